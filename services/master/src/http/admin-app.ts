/** The admin API of a reign: its routes, without a socket of its own. */

import type { Logger } from '@bigtap/kernel'
import type { FastifyInstance } from 'fastify'
import { createEdge } from './edge.ts'
import { addSaleRoutes, type RouteParts } from './routes.ts'
import type { SignOuts } from './session.ts'
import { addWatchRoutes, type WatchParts } from './watch-routes.ts'

/** Collaborators. */
export interface AdminAppParts extends RouteParts, WatchParts {
  readonly signOuts: SignOuts
  readonly logger: Logger
}

/** The routes; `routing` answers a request of the server that listens. */
export function createAdminApp(parts: AdminAppParts): FastifyInstance {
  const app = createEdge(parts)
  parts.sessions.addRoutes(app, parts.signOuts)
  addSaleRoutes(app, parts)
  addWatchRoutes(app, parts)
  return app
}
