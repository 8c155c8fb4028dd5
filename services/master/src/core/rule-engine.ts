/**
 * Rule engine: from what holds now to what is told and done.
 *
 * ```
 *   quiet ─holds─► waiting ─for `forSeconds`─► firing ─holds no more─► leaving ─for `clearSeconds`─► quiet
 *     ▲               │ holds no more             ▲                       │ holds again
 *     └───────────────┘                           └───────────────────────┘
 * ```
 * A rule acts once each time it fires, and for one subject at most once a minute: what flickers does not act again and again.
 */

import type { StoredRule } from './rules.ts'

/** What a rule's condition said of one subject (`''`, `sku:7:3` or `node:middle-1`). */
export interface Observation {
  readonly ruleId: number
  readonly subject: string
  readonly holds: boolean
  /** The figures that the condition names. */
  readonly data: Readonly<Record<string, unknown>>
}

/** What happened. `acts`: its actions are due. */
export type RuleEvent =
  | {
      readonly type: 'fired'
      readonly rule: StoredRule
      readonly subject: string
      readonly data: Observation['data']
      readonly acts: boolean
    }
  | { readonly type: 'holds'; readonly rule: StoredRule; readonly subject: string; readonly data: Observation['data'] }
  | { readonly type: 'cleared'; readonly ruleId: number; readonly subject: string }

interface Watch {
  readonly ruleId: number
  readonly subject: string
  state: 'waiting' | 'firing' | 'leaving'
  since: number
}

/** Subjects that are watched at a time; at the limit a new one is not, and is counted. */
export const WATCHES_MAX = 2_000
/** An action of one rule for one subject is done at most once in this time. */
export const ACT_EVERY_MS = 60_000

/** The engine; its time is that of the ticks. */
export class RuleEngine {
  readonly #watches = new Map<string, Watch>()
  readonly #actedAt = new Map<string, number>()
  #dropped = 0

  /** Subjects that were not watched because of the limit. */
  get dropped(): number {
    return this.#dropped
  }

  /** One tick of some rules; a subject that is not observed any more counts as one that does not hold. */
  tick(now: number, rules: readonly StoredRule[], observations: readonly Observation[]): RuleEvent[] {
    const byId = new Map(rules.map((rule) => [rule.id, rule]))
    const events: RuleEvent[] = []
    for (const [name, at] of this.#actedAt) if (Math.abs(now - at) >= ACT_EVERY_MS) this.#actedAt.delete(name)
    const seen = new Set<string>()
    for (const observation of observations) {
      const rule = byId.get(observation.ruleId)
      if (rule === undefined || !observation.holds) continue
      seen.add(nameOf(observation))
      events.push(...this.#holds(now, rule, observation))
    }
    for (const [name, watch] of this.#watches)
      if (!seen.has(name)) events.push(...this.#holdsNot(now, name, watch, byId.get(watch.ruleId)))
    return events
  }

  #holds(now: number, rule: StoredRule, { subject, data }: Observation): RuleEvent[] {
    const name = nameOf({ ruleId: rule.id, subject })
    let watch = this.#watches.get(name)
    if (watch === undefined) {
      if (this.#watches.size >= WATCHES_MAX) {
        this.#dropped++
        return []
      }
      watch = { ruleId: rule.id, subject, state: 'waiting', since: now }
      this.#watches.set(name, watch)
    }
    if (watch.state === 'leaving') watch.state = 'firing'
    if (watch.state === 'firing') return [{ type: 'holds', rule, subject, data }]
    if (now - watch.since < rule.forSeconds * 1_000) return []
    watch.state = 'firing'
    const acts = !this.#actedAt.has(name)
    if (acts) this.#actedAt.set(name, now)
    return [{ type: 'fired', rule, subject, data, acts }]
  }

  /** A rule that is gone or switched off is over at once. */
  #holdsNot(now: number, name: string, watch: Watch, rule: StoredRule | undefined): RuleEvent[] {
    if (watch.state === 'waiting') {
      this.#watches.delete(name)
      return []
    }
    if (watch.state === 'firing') {
      watch.state = 'leaving'
      watch.since = now
    }
    if (rule !== undefined && now - watch.since < rule.clearSeconds * 1_000) return []
    this.#watches.delete(name)
    return [{ type: 'cleared', ruleId: watch.ruleId, subject: watch.subject }]
  }
}

function nameOf({ ruleId, subject }: { ruleId: number; subject: string }): string {
  return `${ruleId}:${subject}`
}
