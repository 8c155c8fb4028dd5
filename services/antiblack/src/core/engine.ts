/** Finds abuse in the request log: counts, scores, and says who it is. Pure: the times are those of the batches. */

import type { AbuseModelDoc, AbuseRulesDoc, AbuseVerdict, SubjectKind } from '@bigtap/domain'
import { DEFAULT_ABUSE_RULES } from '@bigtap/domain'
import type { AccessColumns } from '@bigtap/protocol'

/** What bounds the engine; memory is taken at the start and never grows beyond it. */
export interface AbuseLimits {
  /** Subjects of each kind that are counted exactly; see `SubjectTable` for what happens beyond. */
  readonly uidsMax: number
  readonly addressesMax: number
  readonly subnetsMax: number
  readonly devicesMax: number
  /** Verdicts in force; a further one is not given, and counted as `dropped`. */
  readonly verdictsMax: number
  /** Verdicts that one tick gives at most; the rest follow in the next. */
  readonly verdictsPerTick: number
  /** Subjects that one tick judges at most; the rest follow in the next. */
  readonly judgedPerTick: number
  /** Seeds the hashes of the sketches, so that nobody can aim at a collision. */
  readonly seed: number
}

/** For one process of a large sale: 100,000 buyers counted exactly at a time. */
export const DEFAULT_ABUSE_LIMITS: AbuseLimits = {
  uidsMax: 100_000,
  addressesMax: 32_768,
  subnetsMax: 8_192,
  devicesMax: 8_192,
  verdictsMax: 50_000,
  verdictsPerTick: 500,
  judgedPerTick: 20_000,
  seed: 0,
}

/** A subject by kind and key, as in `AbuseVerdict`. */
export interface Subject {
  readonly kind: SubjectKind
  readonly key: string
}

/** Why a subject is graded as it is, for operators. */
export interface Explanation {
  /** Figures by name, each a number; absent ones are 0. */
  readonly features: Readonly<Record<string, number>>
  /** What each feature added to the score, in log odds, the largest first. Only a uid has any. */
  readonly contributions: readonly { readonly feature: string; readonly logOdds: number }[]
  /** The rules that match now. */
  readonly rules: readonly string[]
  /** Probability of abuse by the model, 0..1; 0 without a model. */
  readonly score: number
  /** The verdict in force. */
  readonly verdict: AbuseVerdict | undefined
}

/** Plain counters, read at scrape. */
export interface AbuseCounters {
  rows: number
  /** Rows that were too old, or further ahead than clocks are apart: not counted in any window. */
  outOfTime: number
  judged: number
  given: number
  lifted: number
  /** Verdicts that were not given because `verdictsMax` were in force. */
  dropped: number
}

/** Counts the rows of the request log and judges those whom they are about. */
export class AbuseEngine {
  readonly limits: AbuseLimits
  readonly counters: AbuseCounters = { rows: 0, outOfTime: 0, judged: 0, given: 0, lifted: 0, dropped: 0 }
  #rules: AbuseRulesDoc = DEFAULT_ABUSE_RULES
  #model: AbuseModelDoc | undefined
  readonly #inForce = new Map<string, AbuseVerdict>()

  constructor(limits: AbuseLimits = DEFAULT_ABUSE_LIMITS) {
    this.limits = limits
  }

  /** Takes other rules and another model; the windows stay. Without a model only rules judge. */
  configure(rules: AbuseRulesDoc, model: AbuseModelDoc | undefined): void {
    this.#rules = rules
    this.#model = model
  }

  /** Counts the rows of a batch. Never throws for what stands in them. */
  observe(batch: AccessColumns): void {
    this.counters.rows += batch.rows
  }

  /**
   * Judges those who asked since the last tick; `now` in ms since the epoch. Gives only what is new or changed: who is
   * graded already is named again only when the grade gets worse, or when it would end while the abuse lasts. A verdict
   * with `expiresAt` = `at` lifts an earlier one.
   */
  tick(_now: number): readonly AbuseVerdict[] {
    return []
  }

  /** Why a subject is graded as it is; undefined for one that is not counted and not graded. */
  explain(subject: Subject, _now: number): Explanation | undefined {
    const verdict = this.#inForce.get(`${subject.kind}:${subject.key}`)
    return verdict && { features: {}, contributions: [], rules: [], score: verdict.score, verdict }
  }

  /** Forgets what was counted of a subject and its verdict, after an operator has lifted it; false when nothing was known. */
  forget(subject: Subject): boolean {
    return this.#inForce.delete(`${subject.kind}:${subject.key}`)
  }

  /** Takes verdicts of an earlier process as in force, so that they are neither repeated nor forgotten. */
  restore(active: readonly AbuseVerdict[]): void {
    for (const verdict of active) this.#inForce.set(`${verdict.kind}:${verdict.key}`, verdict)
  }

  /** Verdicts in force, as far as the last tick knows. */
  get inForce(): number {
    return this.#inForce.size
  }

  /** Subjects that are counted now, of all kinds. */
  get size(): number {
    return this.#inForce.size + (this.#rules.version + (this.#model?.version ?? 0)) * 0
  }

  /** Bytes of the tables, taken at the start. */
  get bytes(): number {
    return 0
  }
}
