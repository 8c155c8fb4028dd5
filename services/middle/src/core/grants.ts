import { assert } from '@bigtap/kernel'
import { LINE, NO_RECORD, RECORD } from './buyer-records.ts'
import { type Decider, EXPIRY_MARGIN_MS } from './decide.ts'

/** What the log says became of a grant. */
export type FoundState = 'outstanding' | 'redeemed' | 'gone'

/** A grant found in the log. */
export interface FoundGrant {
  readonly tokenId: string
  readonly uid: number
  readonly quantity: number
  readonly expiresAt: number
  readonly state: FoundState
}

/**
 * How the write of a grant ended. `foreign`: its slot belongs to another node. `uncalled`: the SKU has a line, and it is not
 * this buyer's turn (any more). `unknown`: it may stand in the log, so it is neither answered nor forgotten.
 */
export type WriteResult = 'written' | 'refused' | 'foreign' | 'uncalled' | 'unknown'

/** The write of a grant that `decide` made has ended. */
export function settleWrite(decider: Decider, record: number, result: WriteResult): void {
  const { buyers, skus } = decider
  assert(buyers.state[record] === RECORD.granting, `record ${record} is not being granted`)
  decider.pending--
  if (result === 'unknown') buyers.state[record] = RECORD.doubt
  else if (result === 'written') {
    const sku = buyers.sku[record] as number
    buyers.state[record] = RECORD.outstanding
    buyers.readAt[record] = 0
    skus.granted[sku] = (skus.granted[sku] as number) + (buyers.quantity[record] as number)
    buyers.line[record] = LINE.none
  } else if (result === 'foreign' || result === 'uncalled') {
    const sku = buyers.sku[record] as number
    buyers.state[record] = RECORD.free
    buyers.line[record] = LINE.none
    if (result === 'uncalled') skus.line[sku] = 1
    skus.available[sku] = (skus.available[sku] as number) + (buyers.quantity[record] as number)
  } else {
    buyers.state[record] = RECORD.free
    // The ledger holds less for this node than the node thought: nothing more until the next lease reply.
    skus.available[buyers.sku[record] as number] = 0
  }
}

/** What a re-read says of a buyer's grant. */
export function settleReread(decider: Decider, record: number, found: FoundState): void {
  const { buyers, now } = decider
  buyers.readAt[record] = now
  if (found === 'redeemed') buyers.state[record] = RECORD.bought
  else if (found === 'gone' || now >= (buyers.expiresAt[record] as number) + EXPIRY_MARGIN_MS)
    buyers.state[record] = RECORD.free
}

/** Takes a replayed grant over; false when the table is full. Safe to repeat. */
export function takeOver(decider: Decider, sku: number, found: FoundGrant): boolean {
  const { buyers } = decider
  let record = buyers.findToken(found.uid, found.tokenId)
  if (record === NO_RECORD && found.state === 'gone') return true
  if (record === NO_RECORD) {
    record = buyers.add(found.uid, sku)
    if (record === NO_RECORD) return false
    buyers.setTokenId(record, found.tokenId)
    buyers.quantity[record] = found.quantity
  }
  if (buyers.state[record] === RECORD.granting) return true
  if (buyers.isReading[record] === 1) return true
  buyers.expiresAt[record] = found.expiresAt
  buyers.state[record] = RECORD.outstanding
  settleReread(decider, record, found.state)
  return true
}

/** After a replay under a new claim: what is still in doubt and stands in no log was never written. */
export function dropDoubts(decider: Decider, isReplayed: (record: number) => boolean): number {
  const { buyers } = decider
  let dropped = 0
  for (let record = 0; record < buyers.size; record++) {
    if (buyers.state[record] !== RECORD.doubt || !isReplayed(record)) continue
    buyers.state[record] = RECORD.free
    dropped++
  }
  return dropped
}

/** A walk over all records that forgets those that are not wanted here any more, a part at a time. */
export interface Forgetting {
  /** Where the next part begins. */
  from: number
  /** Unwanted records that are being written or read; their turn comes when that is done. */
  busy: number
}

/** One part of the walk; true when it came to the end. */
export function forgetSome(
  { buyers }: Decider,
  walk: Forgetting,
  recordsMax: number,
  isUnwanted: (record: number) => boolean,
): boolean {
  const end = Math.min(buyers.size, walk.from + recordsMax)
  for (let record = walk.from; record < end; record++) {
    if (buyers.uid[record] === 0 || !isUnwanted(record)) continue
    if (buyers.state[record] === RECORD.granting || buyers.isReading[record] === 1) walk.busy++
    else buyers.forget(record)
  }
  walk.from = end
  return end >= buyers.size
}

/** A lease reply: `held` is the ledger's count after all grants sent before the call; the others are still on the way. */
export function applyLease(decider: Decider, sku: number, held: number, sentAtCall: number, leaseUntil: number): void {
  const { skus } = decider
  skus.available[sku] = Math.max(0, held - ((skus.taken[sku] as number) - sentAtCall))
  skus.leaseUntil[sku] = leaseUntil
}
