import { hasCode, type Logger, slotOf } from '@bigtap/kernel'
import type { Claimant, Grant, GrantLog, GrantOutcome } from '@bigtap/store'
import { Batcher } from '@bigtap/transport'
import type { Decider } from './core/decide.ts'
import { settleWrite, type WriteResult } from './core/grants.ts'

/** Grants in one call of the log. */
export const GRANTS_PER_CALL_MAX = 128
/** Calls under way: with 128 grants each takes some 5 ms, so that the last one stays far from its timeout. */
const CALLS_MAX = 4

const RESULTS: Readonly<Record<GrantOutcome, WriteResult>> = {
  written: 'written',
  placeless: 'refused',
  foreign: 'foreign',
  uncalled: 'uncalled',
}

/** Faults of a call that was surely not carried out. All others may have been. */
const NOT_DONE = ['STALE_GUARD', 'STALE_FENCE', 'LEDGER_IN_DOUBT', 'LEDGER_UNKNOWN', 'STORE_UNAVAILABLE'] as const

/** Was the call surely not carried out? */
export function isNotDone(error: unknown): boolean {
  return NOT_DONE.some((code) => hasCode(error, code))
}

/** A command that only took too long was not lost with its server; after any other fault Redis may be another one. */
export function mayHaveLost(error: unknown): boolean {
  return !(error instanceof Error && error.message.includes('timed out'))
}

/** Collaborators of a writer. */
export interface GrantWriterParts {
  readonly decider: Decider
  readonly log: Pick<GrantLog, 'grant'>
  readonly logger: Logger
  /** Under which claim to write; undefined while there is none. */
  claimant(): Claimant | undefined
  /** The write of a record's grant has ended and was settled; `isFault`: the log could not say yes or no. */
  onSettled(record: number, result: WriteResult, isFault: boolean): void
  /** A call failed: the claim, the ledger or the connection is in doubt. */
  onFault(error: unknown): void
}

/** Writes all grants of one event-loop turn in one call, and settles each by what the log says. */
export class GrantWriter {
  readonly #parts: GrantWriterParts
  readonly #batcher: Batcher
  readonly #records: number[] = []
  #calls = 0

  constructor(parts: GrantWriterParts) {
    this.#parts = parts
    this.#batcher = new Batcher(
      { itemsMax: GRANTS_PER_CALL_MAX, bytesMax: Number.MAX_SAFE_INTEGER },
      { flush: () => this.#pump() },
    )
  }

  /** Calls and grants that are not settled yet; 0 when nothing is under way. */
  get underWay(): number {
    return this.#calls + this.#records.length
  }

  /** The record's token and expiry stand; write it. */
  add(record: number): void {
    this.#records.push(record)
    this.#batcher.added()
  }

  /** Few calls at a time: what waits here is not yet on the clock of a call. */
  #pump(): void {
    while (this.#records.length > 0 && this.#calls < CALLS_MAX)
      void this.#write(this.#records.splice(0, GRANTS_PER_CALL_MAX))
  }

  async #write(records: readonly number[]): Promise<void> {
    const { log, claimant, onFault } = this.#parts
    const who = claimant()
    if (who === undefined) return this.#settleAll(records, 'refused')
    this.#calls++
    try {
      const answers = await log.grant(who, this.#grantsOf(records))
      for (const [index, record] of records.entries())
        this.#settle(record, RESULTS[answers[index] ?? 'placeless'], false)
    } catch (error) {
      this.#settleAll(records, isNotDone(error) ? 'refused' : 'unknown')
      onFault(error)
    } finally {
      this.#calls--
    }
    this.#pump()
  }

  #grantsOf(records: readonly number[]): Grant[] {
    const { buyers, skus } = this.#parts.decider
    return records.map((record) => {
      const sku = buyers.sku[record] as number
      const uid = buyers.uid[record] as number
      const quantity = buyers.quantity[record] as number
      skus.sent[sku] = (skus.sent[sku] as number) + quantity
      const expiresAt = buyers.expiresAt[record] as number
      return {
        tokenId: buyers.tokenId(record),
        uid,
        slot: slotOf(uid),
        skuId: skus.skuId[sku] as number,
        quantity,
        expiresAt,
      }
    })
  }

  #settleAll(records: readonly number[], result: WriteResult): void {
    for (const record of records) this.#settle(record, result, true)
  }

  #settle(record: number, result: WriteResult, isFault: boolean): void {
    settleWrite(this.#parts.decider, record, result)
    this.#parts.onSettled(record, result, isFault)
  }
}
