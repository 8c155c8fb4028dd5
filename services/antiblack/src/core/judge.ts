/** What a subject deserves, by rules and model. */

import { type AbuseModelDoc, type AbuseRule, BLOCKED_TIER, type ScoreStep, type Tier } from '@bigtap/domain'
import type { Buyers } from './buyers.ts'
import type { Crowd } from './crowd.ts'
import { FEATURE, FEATURES, readFeatures } from './features.ts'
import { WINDOW } from './figure-windows.ts'
import { mercyOf } from './mercy.ts'
import { COUNT } from './row-facts.ts'
import { KEEP_PART, type RuleSet } from './rule-set.ts'
import { type Contribution, Scorer } from './scorer.ts'
import type { Subjects } from './subjects.ts'
import type { Grade } from './verdict-book.ts'

/** The model says nothing of who has asked less often within a minute: a first request always passes. */
export const ASKS_MIN = 3
/** The model alone gives a grade from this tier on only on evidence of the buyer's own: so many asks, or misdeeds, or addresses within a minute. */
const GRAVE_TIER: Tier = 4
const GRAVE_ASKS_MIN = 5
const GRAVE_MISDEEDS_MIN = 2
const GRAVE_ADDRESSES_MIN = 2.5
/**
 * To shut a buyer out it needs what no person does: to be at three addresses, to forge, or to go on at a machine's pace when
 * a hundred clicks of a person who holds the reload key were over. Until then it falls first where somebody must.
 */
const BLOCKED_FORGED_MIN = 2
const BLOCKED_HASTY_MIN = 120
/** Who is graded already keeps the grade down to so much less of a score. */
const KEEP_SCORE = 0.15
/** With a single good buyer behind it an address is graded no worse. */
const TIER_WITH_GOOD: Tier = 3
const REASON_TERMS = 3

/** What somebody deserves, and what it keeps when it is graded already. */
export interface Deserts {
  readonly grade: Grade | undefined
  readonly kept: Grade | undefined
}

/** Judges buyers. */
export class BuyerJudge {
  readonly #crowd: Crowd
  readonly #scorer: Scorer | undefined
  readonly #rules: RuleSet

  constructor(crowd: Crowd, rules: RuleSet, model: AbuseModelDoc | null) {
    this.#crowd = crowd
    this.#rules = rules
    this.#scorer = model === null ? undefined : new Scorer(model)
  }

  /** What a buyer deserves: the worse of what rules and model say. */
  judge(place: number, now: number): Deserts {
    const { uid } = this.#crowd
    const rule = this.#rules.worst(uid, place, now)
    const keptRule = this.#rules.worst(uid, place, now, KEEP_PART)
    const score = this.score(place, now)
    const most = mostByModel(uid, place, now)
    return {
      grade: worse(gradeByRule(rule), atMost(this.#gradeByScore(score, 0), most)),
      kept: worse(gradeByRule(keptRule), atMost(this.#gradeByScore(score, KEEP_SCORE), most)),
    }
  }

  /** Probability of abuse by the model; 0 without one, and for who has hardly asked. */
  score(place: number, now: number): number {
    const scorer = this.#scorer
    const { uid } = this.#crowd
    if (scorer === undefined || uid.windows.count(place, COUNT.asks, WINDOW.minute, now) < ASKS_MIN) return 0
    readFeatures(this.#crowd, place, now, scorer.values)
    return scorer.score()
  }

  /** Figures of a buyer by name, and what they add to its score. */
  explain(place: number, now: number): { features: Record<string, number>; contributions: Contribution[] } {
    const values = this.#scorer?.values ?? new Float64Array(FEATURES.length)
    readFeatures(this.#crowd, place, now, values)
    const features = Object.fromEntries(FEATURES.map((name) => [name, round(values[FEATURE[name]] as number)]))
    return { features, contributions: this.#scorer?.contributions() ?? [] }
  }

  #gradeByScore(score: number, mercy: number): Grade | undefined {
    const step = this.#scorer && stepOf(this.#scorer.model.steps, score + mercy)
    if (step === undefined || score === 0) return undefined
    return { tier: step.tier, forSeconds: step.forSeconds, score: round(score), reason: () => this.#reason(score) }
  }

  #reason(score: number): string {
    const most = this.#scorer?.contributions().filter(({ logOdds }) => logOdds > 0) ?? []
    const names = most.slice(0, REASON_TERMS).map(({ feature }) => feature)
    return `score ${score.toFixed(2)}: ${names.join(', ')}`
  }
}

/** What an address, a subnet or a device deserves: rules, unless there are good buyers behind it. */
export function judgeGroup(rules: RuleSet, group: Subjects, place: number, now: number): Deserts {
  const mercy = mercyOf(group, place, now)
  if (mercy === 'all') return { grade: undefined, kept: undefined }
  const most = mercy === 'some' ? TIER_WITH_GOOD : BLOCKED_TIER - 1
  return {
    grade: atMost(gradeByRule(rules.worst(group, place, now)), most as Tier),
    kept: atMost(gradeByRule(rules.worst(group, place, now, KEEP_PART)), most as Tier),
  }
}

/** Figures of an address, a subnet or a device by name. */
export function explainGroup(group: Subjects, place: number, now: number): Record<string, number> {
  const count = (figure: number, window: number) => round(group.windows.count(place, figure, window, now))
  return {
    asks10: count(COUNT.asks, WINDOW.tenSeconds),
    asks60: count(COUNT.asks, WINDOW.minute),
    misdeeds60: count(COUNT.misdeeds, WINDOW.minute),
    forged60: count(COUNT.forged, WINDOW.minute),
    uids: round(group.first.estimate(place, now)),
    badUids: round(group.second.estimate(place, now)),
  }
}

/** Is the buyer worth a closer look? Most who ask are not: one cheap count spares their judgement. */
export function isWorthJudging({ windows }: Buyers, place: number, now: number): boolean {
  const asks = windows.count(place, COUNT.asks, WINDOW.minute, now)
  return asks >= ASKS_MIN || windows.count(place, COUNT.misdeeds, WINDOW.minute, now) > 0
}

/** The worst tier that the model alone may give, by the buyer's own evidence. */
function mostByModel({ windows, first }: Buyers, place: number, now: number): Tier {
  const minute = (figure: number) => windows.count(place, figure, WINDOW.minute, now)
  const isRoaming = first.estimate(place, now) >= GRAVE_ADDRESSES_MIN
  const isRelentless = minute(COUNT.hasty) >= BLOCKED_HASTY_MIN
  if (isRoaming || isRelentless || minute(COUNT.forged) >= BLOCKED_FORGED_MIN) return BLOCKED_TIER
  const isOdd = minute(COUNT.misdeeds) >= GRAVE_MISDEEDS_MIN || minute(COUNT.asks) >= GRAVE_ASKS_MIN
  return isOdd ? GRAVE_TIER : ((GRAVE_TIER - 1) as Tier)
}

function gradeByRule(rule: AbuseRule | undefined): Grade | undefined {
  return (
    rule && { tier: rule.tier, forSeconds: rule.forSeconds, score: 1, reason: () => `${rule.name}: ${rule.reason}` }
  )
}

function worse(one: Grade | undefined, other: Grade | undefined): Grade | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return other.tier > one.tier ? other : one
}

function atMost(grade: Grade | undefined, tier: Tier): Grade | undefined {
  return grade && grade.tier > tier ? { ...grade, tier } : grade
}

function stepOf(steps: readonly ScoreStep[], score: number): ScoreStep | undefined {
  return steps.findLast((step) => score >= step.score)
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
