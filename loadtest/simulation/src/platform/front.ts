/** What every front of the simulated platform has: mirror, links to the routers, heartbeat. */

import { createFront, type Mirror } from '@bigtap/catalog'
import type { NodeState, Store } from '@bigtap/store'
import type { SimProcess } from '../world/process.ts'
import { type Context, ROUTER_ADDRESSES } from './site.ts'

/** A front as the end of a run looks at it. */
export interface Front {
  readonly process: SimProcess
  readonly mirror: { readonly revision: number; readonly digest: string }
}

/** Its port, on its own host. */
export const PORT = 8000

/** Makes the front's half of a process; `start` begins it. The event loop's delay is a real machine's, and is left out. */
export function makeFront(
  { id, role, host }: SimProcess,
  store: Store,
  context: Context,
  state?: () => NodeState,
): { mirror: Mirror; start(): void } {
  const settings = { nodeId: id, host, address: id, port: PORT, routers: ROUTER_ADDRESSES, clusterSecret: 'simulation' }
  const front = createFront({ service: role, role, settings, store, ...context, ...(state && { state }) })
  const parts = front.parts.filter(({ name }) => name !== 'loop delay')
  return {
    mirror: front.mirror,
    start: () => {
      for (const part of parts) void part.start()
      void front.heartbeat.start()
    },
  }
}
