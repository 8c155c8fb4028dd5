/** Child of the bench `broadcast`: a hundred fronts, each with its own mirror and link. They check, apply and ack; they read no catalog. */

import { FrontLinks, Mirror } from '@bigtap/catalog'
import { type Clock, nullLogger, nullMetrics, type Random } from '@bigtap/kernel'

/** What the bench tells this process to be. */
export interface NodesOrder {
  readonly count: number
  readonly port: number
  readonly clusterSecret: string
}

const POLL_MS = 20
const clock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }
const random: Random = {
  next: () => Math.random(),
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
}
const parts = { logger: nullLogger, metrics: nullMetrics, clock, random }
const catalog = { head: async () => ({ revision: 0, digest: '', epoch: 0 }), readSince: async () => [] }

process.once('message', ({ count, port, clusterSecret }: NodesOrder) => {
  const fronts = Array.from({ length: count }, (_, at) => {
    const mirror = new Mirror({ service: 'bench' }, { ...parts, catalog })
    const identity = { service: 'bench', nodeId: `front-${at}`, role: 'limiter', clusterSecret }
    const routers = [`127.0.0.1:${port}`]
    return new FrontLinks({ ...identity, routers }, { ...parts, mirror, loop: { readMs: () => 0 } })
  })
  for (const front of fronts) front.start()
  const timer = setInterval(() => {
    if (fronts.some(({ linked }) => linked === 0)) return
    clearInterval(timer)
    process.send?.('ready')
  }, POLL_MS)
})
