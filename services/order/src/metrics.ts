import type { Metrics } from '@bigtap/kernel'
import type { Reconciler } from './reconciler.ts'

/** What the order service counts. */
export function declareMetrics(metrics: Metrics, reconciler: Reconciler) {
  const counter = (name: string, help: string) => metrics.counter(`bigtap_order_${name}`, help)
  metrics.gauge(
    'bigtap_order_reconciliation_differences',
    'SKUs that differ between ledger and PostgreSQL',
    () => reconciler.last.differences.length,
  )
  metrics.gauge(
    'bigtap_order_reconciliation_repaired',
    'rows brought up to date in the last round',
    () => reconciler.last.repaired,
  )
  return {
    stored: counter('stored_total', 'order events stored'),
    deadLetters: counter('dead_letters_total', 'messages set aside'),
    wrongAmounts: counter('wrong_amounts_total', 'payments of a wrong amount'),
  }
}
