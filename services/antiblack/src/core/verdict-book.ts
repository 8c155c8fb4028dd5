/** Verdicts in force, and when a new one is worth saying. */

import { type AbuseVerdict, type SubjectKind, subjectOf, type Tier } from '@bigtap/domain'
import { hashText, mix } from '@bigtap/kernel'

/** Name under which the engine gives verdicts. */
export const ENGINE_NAME = 'antiblack'

/** A grade that a subject deserves, before it is a verdict. */
export interface Grade {
  readonly tier: Tier
  /** In words; asked for at once when a verdict is made, and not else. */
  readonly reason: () => string
  readonly score: number
  readonly forSeconds: number
}

/** A subject and what is thought of it now. */
export interface Finding {
  readonly kind: SubjectKind
  readonly key: string
  /** What it deserves; undefined for nothing. */
  readonly grade: Grade | undefined
  /** What it deserves still when it is graded already, with milder thresholds: so that a grade does not flap. */
  readonly kept: Grade | undefined
}

/** A verdict is renewed in the last third of its time, so that there is no gap while the abuse lasts. */
const RENEW_PART = 1 / 3
const SWEEP_EVERY_MS = 1_000

/**
 * ```
 *    nothing ──grade──► in force ──worse grade──► in force, worse
 *                          │  └──last third, still kept──► in force, renewed
 *                          └──its time ends, or nothing is deserved until then──► nothing
 * ```
 */
export class VerdictBook {
  dropped = 0
  readonly #verdictsMax: number
  readonly #inForce = new Map<string, AbuseVerdict>()
  #sweptAt = 0

  constructor(verdictsMax: number) {
    this.#verdictsMax = verdictsMax
  }

  get size(): number {
    return this.#inForce.size
  }

  /** The verdict in force about a subject. */
  get(subject: string, now: number): AbuseVerdict | undefined {
    const verdict = this.#inForce.get(subject)
    return verdict !== undefined && verdict.expiresAt > now ? verdict : undefined
  }

  /** The verdict to be said about a finding; undefined when what is in force says it, or there is no room. */
  decide(finding: Finding, now: number, isShadow: boolean): AbuseVerdict | undefined {
    const subject = subjectOf(finding)
    const verdict = this.get(subject, now)
    const grade = verdict === undefined || verdict.isShadow !== isShadow ? finding.grade : better(verdict, finding, now)
    if (grade === undefined || (verdict !== undefined && verdict.by !== ENGINE_NAME)) return undefined
    if (!this.#inForce.has(subject) && this.#inForce.size >= this.#verdictsMax) {
      this.dropped++
      return undefined
    }
    return this.#put(subject, finding, grade, now, isShadow)
  }

  /** Ends a verdict of the engine before its time: the verdict that says so, undefined when there is none. */
  lift(kind: SubjectKind, key: string, reason: string, now: number): AbuseVerdict | undefined {
    const subject = subjectOf({ kind, key })
    const verdict = this.get(subject, now)
    if (verdict === undefined || verdict.by !== ENGINE_NAME) return undefined
    this.#inForce.delete(subject)
    return { ...verdict, id: idOf(subject, now), tier: 0, reason, score: 0, at: now, expiresAt: now }
  }

  /** Takes a verdict as in force; one about the same subject that was given later stays. */
  restore(verdict: AbuseVerdict): void {
    const subject = subjectOf(verdict)
    const known = this.#inForce.get(subject)
    if (known !== undefined && known.at > verdict.at) return
    if (verdict.expiresAt <= verdict.at) this.#inForce.delete(subject)
    else if (known !== undefined || this.#inForce.size < this.#verdictsMax) this.#inForce.set(subject, verdict)
    else this.dropped++
  }

  /** Forgets the verdict of a subject; false when there was none. */
  forget(subject: string): boolean {
    return this.#inForce.delete(subject)
  }

  /** Throws out, once a second, what has ended. */
  sweep(now: number): void {
    if (now - this.#sweptAt < SWEEP_EVERY_MS) return
    this.#sweptAt = now
    for (const [subject, { expiresAt }] of this.#inForce) if (expiresAt <= now) this.#inForce.delete(subject)
  }

  #put(subject: string, { kind, key }: Finding, grade: Grade, now: number, isShadow: boolean): AbuseVerdict {
    const { tier, score, forSeconds } = grade
    const [id, reason, expiresAt] = [idOf(subject, now), grade.reason(), now + forSeconds * 1_000]
    const verdict = { id, kind, key, tier, reason, score, at: now, expiresAt, isShadow, by: ENGINE_NAME }
    this.#inForce.set(subject, verdict)
    return verdict
  }
}

function better(verdict: AbuseVerdict, { grade, kept }: Finding, now: number): Grade | undefined {
  if (grade !== undefined && grade.tier > verdict.tier) return grade
  const leftMs = verdict.expiresAt - now
  if (leftMs > (verdict.expiresAt - verdict.at) * RENEW_PART || kept === undefined) return undefined
  if (kept.tier < verdict.tier) return undefined // ends on its own, then the milder grade follows
  return { ...kept, tier: verdict.tier }
}

/** 16 hexadecimal digits from the subject and the time: the same input gives the same ids. */
function idOf(subject: string, now: number): string {
  const hash = hashText(subject)
  const high = mix(hash ^ (now >>> 0))
  const low = mix(Math.imul(hash, 0x9e3779b1) ^ mix(Math.floor(now / 0x1_0000_0000) ^ (now >>> 0) ^ 0x5bd1e995))
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0')
}
