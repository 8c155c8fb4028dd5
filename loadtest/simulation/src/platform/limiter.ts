/** A limiter, whole but for its sockets: requests come from the simulated public. */

import type { Reply } from '@bigtap/limiter/core/reply'
import type { ExchangeHandler } from '@bigtap/limiter/edge/edge'
import { createLimiter } from '@bigtap/limiter/limiter'
import { Reservations } from '@bigtap/store'
import { type Front, makeFront } from './front.ts'
import { contextOf, REDIS_MS, type Site } from './site.ts'

/** A request of a buyer. */
export interface Request {
  readonly path: string
  readonly session: string
  readonly address: string
}

const SETTINGS = {
  ...{ host: 'limiter', port: 8010, edge: 'node' as const, clusterSecret: 'simulation', asksMax: 256, askMsMax: 500 },
  ...{ devLogin: false, sessionMs: 3_600_000, ticketMs: 60_000, isSecure: false, isTrusted: () => false },
}

/** A limiter and the door that buyers come to. */
export interface LimiterFront extends Front {
  request(request: Request, answer: (reply: Reply) => void): void
}

/** Starts a limiter. */
export function startLimiter(site: Site, id: string): LimiterFront {
  const { world, redis, ring } = site
  const process = world.spawn(id, 'limiter')
  const context = contextOf(site, process)
  const store = redis.connect(process, REDIS_MS)
  const front = makeFront(process, store, context)
  const { mirror } = front
  let handle: ExchangeHandler = () => undefined
  const limiter = createLimiter(
    { ...SETTINGS, nodeId: id },
    {
      ...{ ...context, mirror, ring, reservations: new Reservations(store), verifyIdToken: undefined },
      makeEdge: (_wanted, _settings, parts) => {
        handle = parts.onExchange
        return { kind: 'node', held: 0, start: async () => SETTINGS.port, stop: async () => undefined }
      },
    },
  )
  world.runIn(process, () => {
    front.start()
    void limiter.start()
  })
  const request = ({ path, session, address }: Request, answer: (reply: Reply) => void) =>
    handle({
      ...{ method: 'GET', path, remoteAddress: () => address, reply: answer, hold: () => ({ reply: answer }) },
      header: (name) => (name === 'authorization' ? `Bearer ${session}` : ''),
      readBody: () => undefined,
    })
  return { process, mirror, request }
}
