/** Composition root of dcacenter: pulls and pushes → memory → the Redis protocol. */

import { createWorker, runService, watchProcess } from '@bigtap/runtime'
import { connectStore, NameLease, Nodes, PushList } from '@bigtap/store'
import { settings as spec } from './config.ts'
import { MEMORY_LIMITS } from './core/memory.ts'
import { createDcacenter } from './dcacenter.ts'
import { TAKE_EVERY_MS, TAKER_LEASE_MS } from './push-taker.ts'
import { LOOK_EVERY_MS } from './ticker.ts'

const STORE_MS_MAX = 500
const FOLLOW_EVERY_MS = 500

await runService('dcacenter', spec, (context) => {
  const { settings, logger, page } = context
  const store = connectStore({ url: settings.redisUrl, commandMsMax: STORE_MS_MAX }, { logger })
  const center = createDcacenter(settings, {
    ...context,
    nodes: new Nodes(store),
    list: new PushList(store),
    lease: new NameLease(store, { name: 'dcacenter', owner: settings.nodeId, ttlMs: TAKER_LEASE_MS }),
    readFigures: watchProcessFigures(),
  })
  const { puller, taker, ticker, server } = center
  const worker = (name: string, everyMs: number, work: () => Promise<void> | void) =>
    createWorker({ name, everyMs, work, startsAtOnce: true }, logger)
  const take = worker('push taker', TAKE_EVERY_MS, () => taker.round())
  page('/debug/figures', () => center.info())
  return [
    // Without Redis the nodes that are known are still pulled, and what is known is still told.
    { name: 'store', stop: () => store.close(), ready: () => store.ready() },
    worker('nodes', FOLLOW_EVERY_MS, () => puller.follow()),
    { name: 'puller', start: () => puller.start(), stop: () => puller.stop(), limits: { ...MEMORY_LIMITS } },
    {
      name: take.name,
      start: () => take.start(),
      stop: async () => {
        await take.stop()
        await taker.stop()
      },
    },
    worker('ticker', LOOK_EVERY_MS, () => ticker.look()),
    {
      name: 'redis protocol',
      start: async () => logger.info({ port: await server.start() }, 'dcacenter listens'),
      stop: () => server.stop(),
      limits: server.limits,
    },
  ]
})

function watchProcessFigures(): () => Record<string, number> {
  const read = watchProcess()
  return () => ({ ...read() })
}
