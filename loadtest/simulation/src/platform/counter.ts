/** The counter as its main.ts puts it together. */

import { CallGatherer } from '@bigtap/counter/call-gatherer'
import { RecentOrders } from '@bigtap/counter/core/recent-orders'
import { createKeepers } from '@bigtap/counter/keepers'
import { createLedgerServer } from '@bigtap/counter/ledger-server'
import { Rebuilder } from '@bigtap/counter/rebuilder'
import { isLayerShut } from '@bigtap/domain'
import { createWorker } from '@bigtap/runtime'
import { Ledger, NameLease } from '@bigtap/store'
import { type Front, makeFront } from './front.ts'
import { addressOf, contextOf, REDIS_MS, type Site } from './site.ts'

const SETTINGS = { waitingMax: 512, recentMax: 4_096, sweepMs: 150, relayMs: 100, verifyMs: 150 }
const REBUILD_LEASE_MS = 10_000

/** Starts a counter. */
export function startCounter(site: Site, id: string): Front {
  const { world, redis, hub, record, eventLog } = site
  const process = world.spawn(id, 'counter')
  const context = contextOf(site, process)
  const { clock, logger } = context
  const store = redis.connect(process, REDIS_MS)
  const ledger = new Ledger(store)
  const front = makeFront(process, store, context)
  const { mirror } = front
  const recent = new RecentOrders(SETTINGS.recentMax)
  const activities = () => mirror.activities().values()
  const lease = new NameLease(store, { name: 'rebuild', owner: id, ttlMs: REBUILD_LEASE_MS })
  const rebuilder = new Rebuilder({ ...context, store, ledger, db: record.connect(process), recent, lease, activities })
  const gatherer = new CallGatherer(SETTINGS, {
    ledger,
    isShut: (activityId) => isLayerShut(mirror.activity(activityId), 'counter'),
    onReply: (activityId, { order }) => order && recent.add(activityId, order),
    onFault: () => undefined,
  })
  const { loops } = createKeepers(
    { ...SETTINGS, nodeId: id },
    {
      ...{ store, ledger, logger, activities, eventLog: { producer: () => eventLog.producer(process) } },
      currencyOf: () => 'EUR',
      onOrder: (activityId, order) => recent.add(activityId, order),
    },
  )
  const verify = { name: 'verifier', everyMs: SETTINGS.verifyMs, work: () => rebuilder.round() }
  const verifier = createWorker(verify, logger)
  const onFrame = createLedgerServer({ gatherer, clock, onSeconds: () => undefined })
  hub.listen(addressOf(id), process, { onFrame: (link, kind, _correlation, body) => onFrame(link, kind, body) })
  world.runIn(process, () => {
    front.start()
    for (const part of [verifier, ...loops]) part.start()
  })
  return { process, mirror }
}
