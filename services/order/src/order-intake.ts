/** Stores what the event log brings: batches, guarded by version; what can never be stored is set aside. */

import type { Db, OrderRow } from '@bigtap/db'
import type { RecordBatch, StoredRecord } from '@bigtap/eventlog'
import type { Logger } from '@bigtap/kernel'
import { decodeOrderEvent, type OrderEvent } from '@bigtap/protocol'

/** What the intake works with. */
export interface IntakeParts {
  readonly db: Pick<Db, 'orders' | 'deadLetters' | 'ping'>
  readonly logger: Logger
  readonly onStored: (count: number) => void
  readonly onDeadLetter: () => void
}

/** A row is tried alone this often before it is set aside, as long as the database answers. */
const TRIES_MAX = 3

/** Makes the handler of the topic `orders`. It rejects while the database is away: the batch then comes again. */
export function createIntake(parts: IntakeParts): (batch: RecordBatch) => Promise<void> {
  const { db, onStored } = parts
  return async (batch) => {
    const rows: { record: StoredRecord; row: OrderRow }[] = []
    for (const record of batch.records) {
      const row = readRow(record)
      if (row instanceof Error) await setAside(parts, batch, record, row, 1)
      else rows.push({ record, row })
    }
    if (rows.length === 0) return
    try {
      onStored(await db.orders.upsertMany(rows.map(({ row }) => row)))
    } catch (error) {
      await db.ping() // a database that is away is no fault of the batch: reject, and have it again
      parts.logger.warn({ error, rows: rows.length }, 'a batch could not be stored, its rows are tried one by one')
      for (const { record, row } of rows) await storeAlone(parts, batch, record, row)
    }
  }
}

async function storeAlone(parts: IntakeParts, batch: RecordBatch, record: StoredRecord, row: OrderRow): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      parts.onStored(await parts.db.orders.upsertMany([row]))
      return
    } catch (error) {
      await parts.db.ping()
      if (tries >= TRIES_MAX) return setAside(parts, batch, record, error, tries)
    }
  }
}

async function setAside(
  parts: IntakeParts,
  batch: RecordBatch,
  record: StoredRecord,
  error: unknown,
  tries: number,
): Promise<void> {
  const { topic, partition } = batch
  const message = error instanceof Error ? error.message : String(error)
  await parts.db.deadLetters.add({ topic, partition, ...record, error: message, tries })
  parts.logger.error(
    { partition, position: record.position, error: message },
    'a message was set aside as a dead letter',
  )
  parts.onDeadLetter()
}

function readRow(record: StoredRecord): OrderRow | Error {
  try {
    return rowOf(decodeOrderEvent(record.value))
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** The row that an event makes. */
export function rowOf({ type, at, ...event }: OrderEvent): OrderRow {
  return { ...event, state: type, createdAt: at, updatedAt: at }
}
