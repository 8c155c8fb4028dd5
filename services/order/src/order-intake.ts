/** Stores what the event log brings: batches, guarded by version; what can never be stored is set aside. */

import type { Db } from '@bigtap/db'
import { isOrderId } from '@bigtap/domain'
import type { RecordBatch, StoredRecord } from '@bigtap/eventlog'
import { CodedError, hasCode, type Logger } from '@bigtap/kernel'
import { decodeOrderEvent, type OrderEvent } from '@bigtap/protocol'
import type { IntakeAge } from './intake-age.ts'
import { rowOfEvent, rowsOf } from './order-rows.ts'

/** What the intake works with. */
export interface IntakeParts {
  readonly db: Pick<Db, 'orders' | 'deadLetters'>
  readonly logger: Logger
  readonly onStored: (count: number) => void
  /** Is told the oldest event of a batch before it is stored, and when it is. */
  readonly age?: IntakeAge
  readonly onDeadLetter: () => void
}

/** A row that the database refuses is tried alone this often before it is set aside. */
const TRIES_MAX = 3

interface Heard {
  readonly record: StoredRecord
  readonly event: OrderEvent
}

/**
 * Makes the handler of the topic `orders`. Only what the database refuses for its values is set aside; while it is away
 * the handler rejects, and the log brings the batch again for as long as that takes.
 */
export function createIntake(parts: IntakeParts): (batch: RecordBatch) => Promise<void> {
  const { db, onStored, logger } = parts
  return async (batch) => {
    const heard: Heard[] = []
    for (const record of batch.records) {
      const event = readEvent(record)
      if (event instanceof Error) await setAside(parts, batch, record, event, 1)
      else heard.push({ record, event })
    }
    if (heard.length === 0) return
    parts.age?.onHeard(Math.min(...heard.map(({ event }) => event.at)))
    try {
      onStored(await db.orders.upsertMany(rowsOf(heard.map(({ event }) => event))))
    } catch (error) {
      if (!hasCode(error, 'DB_REJECTED')) throw error
      logger.warn({ error, rows: heard.length }, 'a batch was refused, its rows are tried one by one')
      for (const one of heard) await storeAlone(parts, batch, one)
    }
    parts.age?.onDone()
  }
}

async function storeAlone(parts: IntakeParts, batch: RecordBatch, { record, event }: Heard): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      parts.onStored(await parts.db.orders.upsertMany([rowOfEvent(event)]))
      return
    } catch (error) {
      if (!hasCode(error, 'DB_REJECTED')) throw error
      if (tries >= TRIES_MAX) return setAside(parts, batch, record, error, tries)
    }
  }
}

async function setAside(
  { db, logger, onDeadLetter }: IntakeParts,
  { topic, partition }: RecordBatch,
  { key, value, position }: StoredRecord,
  error: unknown,
  tries: number,
): Promise<void> {
  const message = error instanceof Error ? error.message : String(error)
  await db.deadLetters.add({ topic, partition, position, key, value, error: message, tries })
  logger.error({ partition, position, error: message }, 'a message was set aside as a dead letter')
  onDeadLetter()
}

function readEvent(record: StoredRecord): OrderEvent | Error {
  try {
    const event = decodeOrderEvent(record.value)
    if (isOrderId(event.orderId)) return event
    return new CodedError({ code: 'BAD_ORDER_ID', message: `order id ${event.orderId} is none` })
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
