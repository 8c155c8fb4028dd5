/**
 * Follows the board: what other processes and operators say is known here too, and a board that lost its entries gets back
 * what is remembered.
 *
 * ```
 *   start ─► whole board ─► followed by position, each 500 ms
 *              ▲  └─ nothing is said before it was read once      entries gone, another log
 *              └──────────────────────────────────────────────────────┘  (another board: what it lacks is said again)
 * ```
 */

import { type AbuseVerdict, subjectOf } from '@bigtap/domain'
import type { Clock, Logger } from '@bigtap/kernel'
import type { AbuseBoard, AbuseHead } from '@bigtap/store'
import type { Engine } from './abuse-judge.ts'
import { ANTIBLACK, type StandingVerdicts } from './standing-verdicts.ts'

/** Collaborators. */
export interface FollowerParts {
  readonly board: Pick<AbuseBoard, 'readHead' | 'since' | 'active'>
  readonly standing: StandingVerdicts
  readonly engine: Pick<Engine, 'restore' | 'forget'>
  readonly clock: Clock
  readonly logger: Logger
  /** It stands no more on the board, or a milder one does: it is to be said again. */
  sayAgain(verdict: AbuseVerdict): void
}

const PAGE = 1_000
/** Pages of one round; the next one goes on. */
const PAGES_MAX = 20
/** Redis writes its log each second, where it does not write it at once. */
const LAST_WRITES_MS = 5_000
/** Entries before the head that are read at a start. */
const TAIL_MAX = 5_000

/** The follower. */
export class BoardFollower {
  readonly #parts: FollowerParts
  #known: AbuseHead | undefined
  #reloads = 0

  constructor(parts: FollowerParts) {
    this.#parts = parts
  }

  /** Was the board read whole? */
  get isLoaded(): boolean {
    return this.#known !== undefined
  }

  /** Position behind the newest entry that is known here. */
  get position(): number {
    return this.#known?.head ?? 0
  }

  /** How often the board was read whole. */
  get reloads(): number {
    return this.#reloads
  }

  /** One round; rejects when Redis is away. */
  async round(): Promise<void> {
    const { board, standing, clock } = this.#parts
    const found = await board.readHead()
    const known = this.#known
    // A board that was never written has no log yet: what is said first begins one.
    const isSame =
      known !== undefined && (known.logId === found.logId || known.bornAt === '') && found.head >= known.head
    if (isSame) await this.#follow(known, found)
    else await this.#load(found)
    standing.sweep(clock.now())
  }

  async #follow(known: AbuseHead, found: AbuseHead): Promise<void> {
    const { board } = this.#parts
    let position = known.head
    for (let page = 0; page < PAGES_MAX && position < found.head; page++) {
      const said = await board.since(position, PAGE)
      if (said === undefined) return this.#load(found)
      if (said.verdicts.length === 0) return
      for (const [index, verdict] of said.verdicts.entries()) this.#hear(verdict, said.from + index)
      position = said.from + said.verdicts.length
      this.#known = { ...found, head: position }
    }
  }

  #hear(verdict: AbuseVerdict, position: number): void {
    const { standing, engine, clock } = this.#parts
    const now = clock.now()
    const before = standing.get(subjectOf(verdict), now)
    const heard = standing.hear(verdict, position, now)
    if (heard === 'weaker' && before !== undefined) this.#parts.sayAgain(before)
    if (heard === 'new') engine.restore([verdict])
    if (heard === 'lifted' && verdict.by !== ANTIBLACK) engine.forget(verdict)
  }

  /** Entries that come while it is read are read again from the head of before. */
  async #load(found: AbuseHead): Promise<void> {
    const { board, standing, engine, clock, logger } = this.#parts
    const { head } = found
    const known = this.#known
    const wasWritten = known !== undefined && known.bornAt !== ''
    const isLost = wasWritten && known.bornAt !== found.bornAt
    const isOtherLog = wasWritten && known.logId !== found.logId
    if (isOtherLog) standing.rewind()
    await this.#readTail(head)
    let count = 0
    for await (const page of board.active()) {
      for (const verdict of page) standing.hear(verdict, head, clock.now())
      engine.restore(page)
      count += page.length
    }
    const now = clock.now()
    const missing = [...standing.missingSince(head, now)]
    for (const verdict of missing) {
      // A server that restarts may have lost its last writes, and those only.
      const isLastWrite = isOtherLog && verdict.at > now - LAST_WRITES_MS
      if (isLost || isLastWrite) this.#parts.sayAgain(verdict)
      else standing.hear(liftOf(verdict), head, now)
    }
    this.#reloads++
    this.#known = found
    logger.info({ head, count, missing: missing.length, isLost }, 'the board of verdicts was read')
  }

  /** The newest entries, for whom operators have let off: those stand in the log alone. */
  async #readTail(head: number): Promise<void> {
    const { board, standing, clock } = this.#parts
    for (let at = Math.max(0, head - TAIL_MAX); at < head; ) {
      const said = await board.since(at, PAGE)
      if (said === undefined || said.verdicts.length === 0) return
      for (const [index, verdict] of said.verdicts.entries()) standing.hear(verdict, said.from + index, clock.now())
      at = said.from + said.verdicts.length
    }
  }
}

/** It was lifted among the entries that are gone. */
function liftOf(verdict: AbuseVerdict): AbuseVerdict {
  return { ...verdict, id: '', tier: 0, expiresAt: verdict.at, by: '' }
}
