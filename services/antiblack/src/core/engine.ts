/** Finds abuse in the request log: counts, scores, and says who it is. Pure: the times are those of the batches. */

import type { AbuseModelDoc, AbuseRulesDoc, AbuseVerdict, SubjectKind, Tier } from '@bigtap/domain'
import { DEFAULT_ABUSE_RULES, SUBJECT_KINDS, subjectOf } from '@bigtap/domain'
import { NO_PLACE } from '@bigtap/kernel'
import type { AccessColumns } from '@bigtap/protocol'
import { addressKey, textSubnetKey } from './address.ts'
import { type Crowd, makeCrowd } from './crowd.ts'
import { DEFAULT_ABUSE_MODEL } from './default-model.ts'
import { BuyerJudge, explainGroup, isWorthJudging, judgeGroup } from './judge.ts'
import { mercyOf } from './mercy.ts'
import { Observer } from './observer.ts'
import { RuleSet } from './rule-set.ts'
import type { Subjects } from './subjects.ts'
import { VerdictBook } from './verdict-book.ts'

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
  /** Buyers that one tick judges at most (about 5 us each), and a quarter as many of each other kind; the rest follow in the next. */
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
  judgedPerTick: 6_000,
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
  /** Times that a verdict was not given because `verdictsMax` were in force. */
  dropped: number
}

/** Part of a tick's judgements and verdicts that addresses, subnets and devices may each take: a quarter is left for buyers. */
const GROUP_PART = 0.25

/** A buyer who deserves this or worse is one who misbehaves, for those who share an address with it. */
export const BAD_TIER: Tier = 3

/**
 * Counts the rows of the request log and judges those whom they are about.
 *
 * ```
 *   batch ─► observer ─► tables, windows, sketches ─► judge (rules, model) ─► book (what is in force) ─► verdicts
 * ```
 */
export class AbuseEngine {
  readonly limits: AbuseLimits
  readonly #crowd: Crowd
  readonly #observer: Observer
  readonly #book: VerdictBook
  #rules: RuleSet
  #judge: BuyerJudge
  #now = 0
  #judged = 0
  #given = 0
  #lifted = 0

  constructor(limits: AbuseLimits = DEFAULT_ABUSE_LIMITS) {
    this.limits = limits
    this.#crowd = makeCrowd(limits)
    this.#observer = new Observer(this.#crowd, limits.seed)
    this.#book = new VerdictBook(limits.verdictsMax)
    this.#rules = new RuleSet(DEFAULT_ABUSE_RULES)
    this.#judge = new BuyerJudge(this.#crowd, this.#rules, DEFAULT_ABUSE_MODEL)
  }

  /** Takes other rules and another model; the windows stay. Without a model the default one judges, with null only rules do. */
  configure(rules: AbuseRulesDoc, model: AbuseModelDoc | null | undefined): void {
    this.#rules = new RuleSet(rules)
    this.#judge = new BuyerJudge(this.#crowd, this.#rules, model === undefined ? DEFAULT_ABUSE_MODEL : model)
  }

  /** Counts the rows of a batch. Never throws for what stands in them. */
  observe(batch: AccessColumns): void {
    this.#observer.observe(batch, this.#now)
  }

  /**
   * Judges those who asked since the last tick; `now` in ms since the epoch. Gives only what is new or changed: who is
   * graded already is named again only when the grade gets worse, or when it would end while the abuse lasts. A verdict
   * with `expiresAt` = `at` lifts an earlier one.
   */
  tick(now: number): readonly AbuseVerdict[] {
    this.#now = now
    this.#book.sweep(now)
    const said: AbuseVerdict[] = []
    const { judgedPerTick, verdictsPerTick } = this.limits
    // The groups first: a flood of buyers must not keep what is lifted from them waiting; but only a part each, so that a
    // spray of addresses does not keep the buyers waiting.
    for (const kind of ['ip', 'subnet', 'device', 'uid'] as const) {
      const part = kind === 'uid' ? 1 : GROUP_PART
      const most = kind === 'uid' ? verdictsPerTick : said.length + Math.ceil(verdictsPerTick * part)
      this.#judgeSome(kind, Math.ceil(judgedPerTick * part), Math.min(most, verdictsPerTick), now, said)
    }
    return said
  }

  /** Why a subject is graded as it is; undefined for one that is not counted and not graded. */
  explain(subject: Subject, now: number): Explanation | undefined {
    const verdict = this.#book.get(subjectOf(subject), now)
    const subjects = this.#crowd[subject.kind]
    const place = subjects.table.find(this.#keyOf(subject))
    if (place === NO_PLACE) {
      return verdict && { features: {}, contributions: [], rules: [], score: verdict.score, verdict }
    }
    const rules = this.#rules.matching(subjects, place, now)
    if (subject.kind === 'uid') {
      const score = this.#judge.score(place, now)
      return { ...this.#judge.explain(place, now), rules, score, verdict }
    }
    return { features: explainGroup(subjects, place, now), contributions: [], rules, score: 0, verdict }
  }

  /** Forgets what was counted of a subject and its verdict, after an operator has lifted it; false when nothing was known. */
  forget(subject: Subject): boolean {
    const wasGraded = this.#book.forget(subjectOf(subject))
    return this.#crowd[subject.kind].table.remove(this.#keyOf(subject)) || wasGraded
  }

  /** Takes verdicts of an earlier process, or of an operator, as in force, so that they are neither repeated nor forgotten. */
  restore(active: readonly AbuseVerdict[]): void {
    for (const verdict of active) this.#book.restore(verdict)
  }

  /** Plain counts since the start. */
  get counters(): AbuseCounters {
    return {
      rows: this.#observer.rows,
      outOfTime: this.#observer.outOfTime,
      judged: this.#judged,
      given: this.#given,
      lifted: this.#lifted,
      dropped: this.#book.dropped,
    }
  }

  /** Subjects that lost their place to others. */
  get evicted(): number {
    return SUBJECT_KINDS.reduce((sum, kind) => sum + this.#crowd[kind].table.evicted, 0)
  }

  /** Times that a row was not counted for a subject, because its table was full and it was a stranger. */
  get turnedAway(): number {
    return SUBJECT_KINDS.reduce((sum, kind) => sum + this.#crowd[kind].table.turnedAway, 0)
  }

  /** Verdicts in force, as far as the last tick knows. */
  get inForce(): number {
    return this.#book.size
  }

  /** Subjects that are counted now, of all kinds. */
  get size(): number {
    return SUBJECT_KINDS.reduce((sum, kind) => sum + this.#crowd[kind].table.size, 0)
  }

  /** Bytes of the tables, taken at the start. */
  get bytes(): number {
    return SUBJECT_KINDS.reduce((sum, kind) => sum + this.#crowd[kind].bytes, 0)
  }

  #judgeSome(kind: SubjectKind, judgedMax: number, saidMax: number, now: number, said: AbuseVerdict[]): void {
    for (let left = judgedMax; left > 0 && said.length < saidMax; left--) {
      const place = this.#crowd[kind].nextTouched()
      if (place === NO_PLACE) return
      const verdict = kind === 'uid' ? this.#judgeBuyer(place, now) : this.#judgeGroup(this.#crowd[kind], place, now)
      if (verdict !== undefined) said.push(verdict)
    }
  }

  #judgeBuyer(place: number, now: number): AbuseVerdict | undefined {
    const { uid } = this.#crowd
    if (!isWorthJudging(uid, place, now)) return undefined
    this.#judged++
    const deserts = this.#judge.judge(place, now)
    if (deserts.kept === undefined) return undefined
    if (deserts.grade !== undefined && deserts.grade.tier >= BAD_TIER) this.#observer.markBad(place, now)
    return this.#say(this.#book.decide({ kind: 'uid', key: uid.nameOf(place), ...deserts }, now, this.#isShadow))
  }

  #judgeGroup(group: Subjects, place: number, now: number): AbuseVerdict | undefined {
    this.#judged++
    const { kind } = group
    const deserts = judgeGroup(this.#rules, group, place, now)
    const key = group.nameOf(place)
    if (deserts.kept !== undefined) return this.#say(this.#book.decide({ kind, key, ...deserts }, now, this.#isShadow))
    if (mercyOf(group, place, now) !== 'all') return undefined
    const lifted = this.#book.lift(kind, key, 'good buyers share it', now)
    if (lifted !== undefined) this.#lifted++
    return lifted
  }

  #say(verdict: AbuseVerdict | undefined): AbuseVerdict | undefined {
    if (verdict !== undefined) this.#given++
    return verdict
  }

  get #isShadow(): boolean {
    return this.#rules.doc.isShadow
  }

  #keyOf({ kind, key }: Subject): number {
    if (kind === 'uid') return Number(key)
    if (kind === 'device') return Number.parseInt(key, 16)
    return kind === 'ip' ? addressKey(key, this.limits.seed) : textSubnetKey(key, this.limits.seed)
  }
}
