/**
 * Tries all rules on each tick of dcacenter, and does what the engine says.
 *
 * ```
 *   tick ─► condition of each rule, per SKU or node ─► engine ─► fired ─┬ alert ──────────► alarms ─► log, webhook, API
 *                     └ fails: one alarm of that rule                   └ rate, pause ─┬ needsYes ─► approvals ─ yes ─► done
 *                                                                                      └ done
 * ```
 */

import type { Clock, Logger, Metrics, Random } from '@bigtap/kernel'
import type { Tick } from '@bigtap/store'
import type { Alarms } from './core/alarms.ts'
import { Approvals } from './core/approvals.ts'
import { type Observation, RuleEngine, type RuleEvent } from './core/rule-engine.ts'
import type { RuleAction, StoredRule } from './core/rules.ts'
import type { ConditionInput, Figures } from './rule-conditions.ts'
import type { ReadyRule, RuleDesk } from './rule-desk.ts'

/** Collaborators. */
export interface RuleWatchParts {
  readonly desk: Pick<RuleDesk, 'rules'>
  readonly alarms: Alarms
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: Metrics
  /** What master itself knows: violations, ledgers in doubt … */
  facts(): Promise<Figures>
  /** Does a rule's actions, as the rule. */
  act(rule: Pick<StoredRule, 'name'>, subject: string, actions: readonly RuleAction[]): Promise<void>
}

/** What a condition said when it was only tried. */
export interface Tried {
  readonly subject: string
  readonly holds: boolean
  readonly error?: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Without a tick for this long the rules are blind, and that is an alarm. */
export const TICK_SILENT_MS = 5_000
const FIGURES_ALARM = 'figures'
/** Answers of one dry run. */
const TRIED_MAX = 100
const ID_BYTES = 12
const SLICE_MS = 5

/** The watch. */
export class RuleWatch {
  readonly approvals = new Approvals()
  readonly #parts: RuleWatchParts
  readonly #engine = new RuleEngine()
  readonly #broken = new Set<number>()
  #last: Tick | undefined
  #heardAt: number
  #isBusy = false
  #skipped = 0

  constructor(parts: RuleWatchParts) {
    this.#parts = parts
    this.#heardAt = parts.clock.monotonic()
    const { metrics } = parts
    metrics.gauge(
      'bigtap_master_rule_subjects_dropped_count',
      'subjects of rules beyond the limit',
      () => this.#engine.dropped,
    )
    metrics.gauge('bigtap_master_rule_ticks_skipped_count', 'ticks that came while one was tried', () => this.#skipped)
    metrics.gauge('bigtap_master_approvals_dropped_count', 'questions beyond the limit', () => this.approvals.dropped)
  }

  /** The last tick, for what an action must know. */
  get last(): Tick | undefined {
    return this.#last
  }

  /** A tick came. One that comes while the one before is still tried is only kept as the last. */
  async onTick(tick: Tick): Promise<void> {
    this.#last = tick
    this.#heardAt = this.#parts.clock.monotonic()
    if (this.#isBusy) {
      this.#skipped++
      return
    }
    this.#isBusy = true
    try {
      await this.#try(tick)
    } finally {
      this.#isBusy = false
    }
  }

  /** Call it each second: are there ticks at all? */
  look(): void {
    const { alarms, clock } = this.#parts
    const silentMs = Math.round(clock.monotonic() - this.#heardAt)
    const message = 'no figures come from dcacenter: rules see nothing'
    const alarm = { key: FIGURES_ALARM, severity: 'warning', message, data: { silentMs } } as const
    alarms.set(silentMs > TICK_SILENT_MS, alarm, clock.now())
  }

  /** What a rule would say of the last tick. */
  async dryRun(ready: ReadyRule): Promise<{ at: number | undefined; tried: Tried[] }> {
    const tick = this.#last
    if (tick === undefined) return { at: undefined, tried: [] }
    const totals = await this.#totals(tick)
    const tried = subjectsOf(ready, tick, totals).map(([subject, input]) => {
      const result = ready.condition.test(input)
      const data = ready.condition.shown(input)
      return typeof result === 'string'
        ? { subject, holds: false, error: result, data }
        : { subject, holds: result, data }
    })
    const byInterest = tried.sort((a, b) => Number(b.holds) - Number(a.holds))
    return { at: tick.at, tried: byInterest.slice(0, TRIED_MAX) }
  }

  async #try(tick: Tick): Promise<void> {
    const { desk, clock } = this.#parts
    const totals = await this.#totals(tick)
    const enabled = desk.rules.filter(({ rule }) => rule.enabled)
    const observations: Observation[] = []
    for (const ready of enabled) observations.push(...(await this.#observe(ready, tick, totals)))
    const gone = [...this.#broken].filter((id) => !enabled.some(({ rule }) => rule.id === id))
    for (const id of gone) this.#sayBroken(id, undefined)
    const events = this.#engine.tick(
      clock.now(),
      enabled.map(({ rule }) => rule),
      observations,
    )
    for (const event of events) await this.#obey(event)
  }

  /** A condition takes some 50 µs: 100 rules over 400 SKUs are tried in slices, and must not hold up the keepers. */
  async #observe(ready: ReadyRule, tick: Tick, totals: Figures): Promise<Observation[]> {
    const { clock } = this.#parts
    const { rule, condition } = ready
    const observations: Observation[] = []
    let error: string | undefined
    let sliceEndsAt = clock.monotonic() + SLICE_MS
    for (const [subject, input] of subjectsOf(ready, tick, totals)) {
      const result = condition.test(input)
      if (typeof result === 'string') error = `${result}${subject === '' ? '' : ` (${subject})`}`
      if (result === true) observations.push({ ruleId: rule.id, subject, holds: true, data: condition.shown(input) })
      if (clock.monotonic() < sliceEndsAt) continue
      await new Promise((resolve) => setImmediate(resolve))
      sliceEndsAt = clock.monotonic() + SLICE_MS
    }
    this.#sayBroken(rule.id, error, rule.name)
    return observations
  }

  #sayBroken(ruleId: number, error: string | undefined, name = ''): void {
    const { alarms, clock } = this.#parts
    const key = `rule-broken:${ruleId}`
    if (error === undefined) {
      if (this.#broken.delete(ruleId)) alarms.clear(key, clock.now())
      return
    }
    this.#broken.add(ruleId)
    const message = `the rule "${name}" cannot be tried`
    alarms.raise({ key, severity: 'warning', message, data: { ruleId, error } }, clock.now())
  }

  async #obey(event: RuleEvent): Promise<void> {
    const { alarms, clock } = this.#parts
    const now = clock.now()
    if (event.type === 'cleared') {
      alarms.clear(alarmKey(event.ruleId, event.subject), now)
      this.approvals.withdraw(event.ruleId, event.subject)
      return
    }
    const { rule, subject, data } = event
    const message = subject === '' ? rule.name : `${rule.name}: ${subject}`
    const shown = { ruleId: rule.id, when: rule.when, subject, webhook: rule.webhook, ...data }
    alarms.raise({ key: alarmKey(rule.id, subject), severity: rule.severity, message, data: shown }, now)
    if (event.type === 'fired' && event.acts) await this.#act(rule, subject)
  }

  async #act(rule: StoredRule, subject: string): Promise<void> {
    const { clock, logger, act, random } = this.#parts
    const actions = rule.actions.filter(({ type }) => type !== 'alert')
    if (actions.length === 0) return
    if (rule.needsYes) {
      const id = Buffer.from(random.bytes(ID_BYTES)).toString('hex')
      const isAsked = this.approvals.ask(clock.now(), { id, ruleId: rule.id, rule: rule.name, subject, actions })
      logger.warn({ rule: rule.name, subject, actions, isAsked }, 'a rule asks for a yes')
      return
    }
    try {
      await act(rule, subject, actions)
    } catch (error) {
      logger.error({ error, rule: rule.name, subject, actions }, 'a rule could not act')
    }
  }

  async #totals(tick: Tick): Promise<Figures> {
    try {
      return { ...tick.totals, ...(await this.#parts.facts()) }
    } catch (error) {
      this.#parts.logger.debug({ error }, 'the facts of master could not be read')
      return tick.totals
    }
  }
}

/** What the condition is tried on: everything once, or each SKU, or each node. */
function subjectsOf({ condition }: ReadyRule, tick: Tick, totals: Figures): [string, ConditionInput][] {
  if (condition.uses.includes('sku'))
    return tick.skus.map(({ activityId, skuId, state, figures }) => [
      `sku:${activityId}:${skuId}`,
      { totals, sku: { ...figures, activityId, skuId, state } },
    ])
  if (condition.uses.includes('node'))
    return tick.nodes.map(({ id, role, labels, figures }) => [
      `node:${id}`,
      { totals, node: { ...labels, ...figures, id, role } },
    ])
  return [['', { totals }]]
}

function alarmKey(ruleId: number, subject: string): string {
  return subject === '' ? `rule:${ruleId}` : `rule:${ruleId}:${subject}`
}
