/**
 * What a reign does beside its sale: the warehouse's stock, the policies' plans, rules and their alerts, and the tools.
 *
 * ```
 *   warehouse ◄─► StockKeeping ──► ledger            dcacenter's tick ─► RuleWatch ─► alarms ─► log, webhook
 *   ledger ─► PolicyKeeping ──► publisher                                    └─ actions ─► desk
 * ```
 */

import { skuKey } from '@bigtap/domain'
import type { Clock, Logger, Metrics, Random } from '@bigtap/kernel'
import type { Ledger, Reservations, Store, Tick } from '@bigtap/store'
import { AlertDesk, SILENCE_LIMITS } from './alert-desk.ts'
import { AlertWebhook, WEBHOOK_LIMITS } from './alert-webhook.ts'
import type { Book, Sale } from './book.ts'
import type { CatalogPublisher } from './catalog-publisher.ts'
import type { Alarms } from './core/alarms.ts'
import { APPROVAL_LIMITS } from './core/approvals.ts'
import { ACT_EVERY_MS, WATCHES_MAX } from './core/rule-engine.ts'
import { RULE_LIMITS } from './core/rules.ts'
import { SEAT_LINES_LIMITS } from './core/seat-lines.ts'
import type { LedgerWatch } from './ledger-watch.ts'
import type { PolicyDesk } from './policy-desk.ts'
import { POLICY_EVERY_MS, PolicyKeeping } from './policy-keeping.ts'
import type { RecordKeeper } from './record-keeper.ts'
import { RecordTools } from './record-tools.ts'
import { IMPORT_LIMITS, ReservationImports } from './reservation-import.ts'
import type { RouterLinks } from './router-links.ts'
import { RuleActions } from './rule-actions.ts'
import { RuleDesk } from './rule-desk.ts'
import { RuleWatch } from './rule-watch.ts'
import type { SaleDesk } from './sale-desk.ts'
import type { SaleView } from './sale-view.ts'
import { StockKeeping } from './stock-keeping.ts'
import type { Warehouse } from './warehouse.ts'
import { WAREHOUSE_LIMITS } from './warehouse-http.ts'

/** Collaborators: those of the reign. */
export interface ControlParts {
  readonly warehouse: Warehouse | undefined
  readonly reservations: Reservations
  readonly desk: SaleDesk
  readonly policies: PolicyDesk
  readonly view: SaleView
  readonly book: Book
  readonly alarms: Alarms
  readonly links: RouterLinks
  readonly publisher: CatalogPublisher
  readonly ledgers: LedgerWatch
  readonly record: RecordKeeper
  readonly store: Store
  readonly ledger: Ledger
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: Metrics
}

/** A round of the control and how often it is due, ms. */
export interface ControlRound {
  readonly name: string
  readonly everyMs: number
  readonly round: () => Promise<void>
}

/** All of it. */
export type Control = ReturnType<typeof createControl>

const LOOK_EVERY_MS = 1_000
/** Shown at /debug/config. */
export const CONTROL_LIMITS = {
  rules: { ...RULE_LIMITS, watchesMax: WATCHES_MAX, actEveryMs: ACT_EVERY_MS },
  approvals: APPROVAL_LIMITS,
  silences: SILENCE_LIMITS,
  webhook: WEBHOOK_LIMITS,
  warehouse: WAREHOUSE_LIMITS,
  imports: { ...IMPORT_LIMITS, ...SEAT_LINES_LIMITS },
} as const

/** The control of one reign; its owner runs the rounds, and hands on the ticks of dcacenter. */
export function createControl({ alertWebhook }: { alertWebhook: string | undefined }, parts: ControlParts) {
  const { desk, policies, view, alarms, store, ledgers, links, reservations, clock } = parts
  const { db } = desk.parts
  const figures = async (activityId: number) => (store.ready() ? ledgers.figures(activityId) : undefined)
  const audit = parts.record.note.bind(parts.record)
  const changed = (sale: Sale, skuIds: readonly number[]) => publishSkus(parts, sale, skuIds)
  const plans = new PolicyKeeping({ ...parts, figures, changed, audit })
  const stock =
    parts.warehouse === undefined
      ? undefined
      : new StockKeeping({ ...parts, warehouse: parts.warehouse, figures, changed, audit })
  const rules = new RuleDesk({ ...parts, db })
  const actions: RuleActions = new RuleActions({ desk, policies, last: () => watch.last })
  const watch: RuleWatch = new RuleWatch({
    ...parts,
    desk: rules,
    facts: () => view.facts(),
    act: (rule, subject, wanted) => actions.actAsRule(rule.name, subject, wanted),
  })
  const alerts = new AlertDesk({ alarms, clock, db })
  const webhook = new AlertWebhook({ url: alertWebhook }, parts)
  alarms.onChange((alarm) => alerts.onChange(alarm))
  alarms.onChange((alarm) => tellLog(parts.logger, alarm))
  alarms.onChange((alarm) => webhook.tell(alarms.get(alarm.key) ?? alarm))
  const rounds: ControlRound[] = [
    { name: 'policies', everyMs: POLICY_EVERY_MS, round: () => plans.round() },
    { name: 'rules', everyMs: LOOK_EVERY_MS, round: async () => watch.look() },
  ]
  if (stock !== undefined) rounds.push({ name: 'stock', everyMs: stock.everyMs, round: () => stock.round() })
  return {
    rules,
    watch,
    actions,
    alerts,
    imports: new ReservationImports({ ...parts, reservations }),
    records: new RecordTools({ desk, links }),
    rounds,
    /** Takes what is stored; rejects when PostgreSQL is away. */
    load: async (): Promise<void> => {
      await rules.load()
      await alerts.load()
    },
    onTick: (tick: Tick): Promise<void> => watch.onTick(tick),
    stop: (): Promise<void> => webhook.stop(),
  }
}

/** Only what has changed: a sale has hundreds of documents. */
function publishSkus({ publisher }: ControlParts, sale: Sale, skuIds: readonly number[]): void {
  const { id } = sale.activity
  publisher.queue(
    skuIds.flatMap((skuId) => {
      const body = sale.skus.get(skuId)
      return body === undefined ? [] : [{ key: skuKey(id, skuId), body }]
    }),
  )
}

function tellLog(
  logger: Logger,
  { key, severity, message, state, data }: Parameters<Parameters<Alarms['onChange']>[0]>[0],
) {
  const level = state === 'cleared' || severity === 'info' ? 'info' : severity === 'critical' ? 'error' : 'warn'
  logger[level]({ alarm: key, severity, data }, state === 'cleared' ? `over: ${message}` : message)
}
