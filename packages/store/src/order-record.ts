import { CodedError } from '@bigtap/kernel'

/** States that the ledger knows; `refund_pending` and `refunded` are PostgreSQL's alone. */
export type LedgerOrderState = 'held' | 'paid' | 'expired' | 'cancelled'

/** An order as the ledger keeps it. Times in ms since the epoch. */
export interface LedgerOrder {
  readonly orderId: string
  readonly state: LedgerOrderState
  readonly skuId: number
  readonly uid: number
  readonly quantity: number
  readonly priceCents: number
  readonly version: number
  readonly seq: number
  readonly createdAt: number
  readonly payBy: number
  readonly updatedAt: number
}

const STATES: readonly string[] = ['held', 'paid', 'expired', 'cancelled']
const PARTS = 10

/** Reads `state|sku|uid|quantity|price|version|seq|createdAt|payBy|updatedAt`; throws BAD_RECORD with the record. */
export function parseOrderRecord(orderId: string, record: string): LedgerOrder {
  const [state = '', ...rest] = record.split('|')
  const numbers = rest.map(Number)
  if (!STATES.includes(state) || rest.length !== PARTS - 1 || !numbers.every(Number.isSafeInteger))
    throw new CodedError({ code: 'BAD_RECORD', message: `order ${orderId} has the record ${JSON.stringify(record)}` })
  const [
    skuId = 0,
    uid = 0,
    quantity = 0,
    priceCents = 0,
    version = 0,
    seq = 0,
    createdAt = 0,
    payBy = 0,
    updatedAt = 0,
  ] = numbers
  return {
    orderId,
    state: state as LedgerOrderState,
    skuId,
    uid,
    quantity,
    priceCents,
    version,
    seq,
    createdAt,
    payBy,
    updatedAt,
  }
}

/** Writes an order as the ledger keeps it. */
export function formatOrderRecord(order: LedgerOrder): string {
  const { state, skuId, uid, quantity, priceCents, version, seq, createdAt, payBy, updatedAt } = order
  return [state, skuId, uid, quantity, priceCents, version, seq, createdAt, payBy, updatedAt].join('|')
}

/** Reads one line of an outbox entry: `orderId|record`. */
export function parseEventLine(line: string): LedgerOrder {
  const bar = line.indexOf('|')
  return parseOrderRecord(line.slice(0, bar), line.slice(bar + 1))
}
