import type { Metrics } from '@bigtap/kernel'
import type { CallGatherer } from './call-gatherer.ts'
import type { RecentOrders } from './core/recent-orders.ts'
import type { GrantRelay } from './grant-relay.ts'
import type { Rebuilder } from './rebuilder.ts'

/** What the counter counts. */
export function declareMetrics(
  metrics: Metrics,
  parts: { gatherer: CallGatherer; recent: RecentOrders; rebuilder: Rebuilder; grants: Pick<GrantRelay, 'carried'> },
) {
  const { gatherer, recent, rebuilder, grants } = parts
  const gauge = (name: string, help: string, read: () => number) => metrics.gauge(`bigtap_counter_${name}`, help, read)
  gauge('calls_depth', 'ledger calls that wait', () => gatherer.waiting)
  gauge('calls_capacity', 'most ledger calls that wait', () => gatherer.waitingMax)
  gauge('calls_dropped', 'ledger calls refused because too many waited', () => gatherer.refused)
  gauge('recent_orders', 'orders remembered for a rebuild', () => recent.size)
  gauge('rebuilds', 'ledgers rebuilt', () => rebuilder.history.length)
  gauge('lost_orders', 'orders that no rebuild could find again', () => rebuilder.lostTotal)
  gauge('conflict_orders', 'orders that found no unit in a rebuild', () => rebuilder.conflictsTotal)
  gauge('carried_grants', 'grants carried to the release log', () => grants.carried)
  return { seconds: metrics.histogram('bigtap_counter_call_seconds', 'from a ledger call to its reply') }
}
