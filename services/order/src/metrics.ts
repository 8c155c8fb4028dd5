import type { Metrics } from '@bigtap/kernel'
import type { CallbackResult } from './core/callback.ts'
import type { PaymentAlert } from './payment-desk.ts'
import type { Reconciliation } from './reconciler.ts'

const ALERTS: readonly PaymentAlert[] = ['wrong_amount', 'unknown_payment', 'unknown_order']
const RESULTS: readonly CallbackResult[] = ['paid', 'failed', 'refund_pending', 'kept']

/** What the order service counts. `lag` is read by a worker, since the log must be asked for it. */
export function declareMetrics(metrics: Metrics, read: { last: () => Reconciliation; lag: () => number }) {
  const counter = (name: string, help: string, labels?: Record<string, string>) =>
    metrics.counter(`bigtap_order_${name}`, help, labels)
  const gauge = (name: string, help: string, value: () => number) => metrics.gauge(`bigtap_order_${name}`, help, value)
  gauge('event_lag_records', 'order events of the log that are not stored yet', read.lag)
  gauge(
    'reconciliation_differences',
    'SKUs that differ between ledger and PostgreSQL',
    () => read.last().differences.length,
  )
  gauge('reconciliation_alerts', 'SKUs that have differed for two rounds or longer', () => read.last().alerts)
  gauge('reconciliation_repaired', 'rows brought up to date in the last round', () => read.last().repaired)
  const alerts = byLabel(ALERTS, (alert) => counter('payment_alerts_total', 'payments that need an eye', { alert }))
  const results = byLabel(RESULTS, (result) => counter('payment_events_total', 'payment events by result', { result }))
  return {
    stored: counter('stored_total', 'orders stored or moved on by events'),
    deadLetters: counter('dead_letters_total', 'messages set aside'),
    sandboxDropped: counter('sandbox_dropped_total', 'callbacks that the sandbox gave up'),
    onAlert: (alert: PaymentAlert) => alerts.get(alert)?.inc(),
    onResult: (result: CallbackResult) => results.get(result)?.inc(),
  }
}

function byLabel<Label, T>(labels: readonly Label[], make: (label: Label) => T): ReadonlyMap<Label, T> {
  return new Map(labels.map((label) => [label, make(label)]))
}
