/** The verdicts in force as the board tells them, and whom an operator has let off. Pure. */

import { type AbuseVerdict, subjectOf } from '@bigtap/domain'

/** Author of the verdicts that no operator gave. */
export const ANTIBLACK = 'antiblack'

/** How much is remembered, and for how long one who was let off is left alone, ms. */
export interface StandingLimits {
  readonly standingMax: number
  readonly mercyMs: number
}

/** Why a verdict is not said: as bad a one stands, an operator's stands, or an operator has lifted one lately. */
export type Refusal = 'standing' | 'operator' | 'mercy'

/** What something heard means: `weaker` says that another process has replaced one of ours that was worse. */
export type Heard = 'old' | 'new' | 'lifted' | 'weaker'

/** Two processes that judge one subject in the same second say it once. */
const LONGER_MS_MIN = 2_000

/** Position of a verdict that the board does not have any more. */
const NOT_THERE = -1

interface Entry {
  readonly verdict: AbuseVerdict
  readonly position: number
  /** In force, or of mercy, until then. */
  readonly until: number
}

/**
 * ```
 *   nothing ── heard ──► in force ── runs out ──► nothing
 *                          │ lifted by an operator
 *                          └──► mercy ── mercyMs ──► nothing
 * ```
 * A verdict of antiblack gives way to a worse one, to one as bad that lasts longer, and to one in another mode (shown only, or
 * enforced); an operator's word gives way to no machine.
 */
export class StandingVerdicts {
  readonly #limits: StandingLimits
  readonly #entries = new Map<string, Entry>()
  #forgotten = 0

  constructor(limits: StandingLimits) {
    this.#limits = limits
  }

  /** Subjects that are remembered. */
  get size(): number {
    return this.#entries.size
  }

  /** Verdicts that were not remembered, because there were too many. */
  get forgotten(): number {
    return this.#forgotten
  }

  /** The verdict in force about a subject. */
  get(subject: string, now: number): AbuseVerdict | undefined {
    const entry = this.#entries.get(subject)
    return entry !== undefined && !isLift(entry.verdict) && entry.until > now ? entry.verdict : undefined
  }

  /** Takes what the board says at a position; what is older than what is known of the subject changes nothing. */
  hear(verdict: AbuseVerdict, position: number, now: number): Heard {
    const subject = subjectOf(verdict)
    const known = this.#entries.get(subject)
    if (known !== undefined && known.position > position) return 'old'
    if (known?.verdict.id === verdict.id) {
      this.#entries.set(subject, { ...known, position })
      return 'old'
    }
    const before = this.get(subject, now)
    if (isLift(verdict)) {
      const until = verdict.at + this.#limits.mercyMs
      if (verdict.by !== ANTIBLACK && until > now) this.#put(subject, { verdict, position, until })
      else this.#entries.delete(subject)
      return 'lifted'
    }
    this.#put(subject, { verdict, position, until: verdict.expiresAt })
    return before?.by === ANTIBLACK && isMilder(verdict, before) ? 'weaker' : 'new'
  }

  /** Why antiblack must not say this verdict; undefined: it may. */
  refusal(verdict: AbuseVerdict, now: number): Refusal | undefined {
    const entry = this.#entries.get(subjectOf(verdict))
    if (entry === undefined || entry.until <= now) return undefined
    const { verdict: known } = entry
    if (known.id === verdict.id) return entry.position === NOT_THERE ? undefined : 'standing'
    if (isLift(known)) return 'mercy'
    if (known.by !== ANTIBLACK) return 'operator'
    if (isLift(verdict)) return undefined
    return isWorse(verdict, known) ? undefined : 'standing'
  }

  /** The board has lost what it held: positions begin anew; what is remembered stays, and may be said again. */
  rewind(): void {
    for (const [subject, entry] of this.#entries) this.#entries.set(subject, { ...entry, position: NOT_THERE })
  }

  /** What is in force and was heard before a position: a board that was read whole from there does not have it. */
  *missingSince(position: number, now: number): Generator<AbuseVerdict> {
    for (const { verdict, position: heardAt, until } of this.#entries.values())
      if (heardAt < position && until > now && !isLift(verdict)) yield verdict
  }

  /** All verdicts in force, in the order in which their subjects came. */
  *inForce(now: number): Generator<AbuseVerdict> {
    for (const { verdict, until } of this.#entries.values()) if (until > now && !isLift(verdict)) yield verdict
  }

  /** Forgets what has run out. */
  sweep(now: number): void {
    for (const [subject, { until }] of this.#entries) if (until <= now) this.#entries.delete(subject)
  }

  #put(subject: string, entry: Entry): void {
    if (this.#entries.size >= this.#limits.standingMax && !this.#entries.has(subject)) this.#forgotten++
    else this.#entries.set(subject, entry)
  }
}

/** Does it end the one before? */
export function isLift({ at, expiresAt }: AbuseVerdict): boolean {
  return expiresAt <= at
}

/** In another mode the newer one counts: an operator has switched it. */
function isWorse(next: AbuseVerdict, known: AbuseVerdict): boolean {
  if (next.isShadow !== known.isShadow || next.tier > known.tier) return true
  return next.tier === known.tier && next.expiresAt >= known.expiresAt + LONGER_MS_MIN
}

function isMilder({ by, tier, isShadow }: AbuseVerdict, known: AbuseVerdict): boolean {
  return by === ANTIBLACK && isShadow === known.isShadow && tier < known.tier
}
