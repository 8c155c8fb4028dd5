/** The admin API of a reign: its routes, without a socket of its own. */

import type { Logger } from '@bigtap/kernel'
import type { FastifyInstance } from 'fastify'
import type { Control } from '../control.ts'
import { addDrawRoutes, type DrawRouteParts } from './draw-routes.ts'
import { createEdge } from './edge.ts'
import { addSaleRoutes, type RouteParts } from './routes.ts'
import { addRuleRoutes, type RuleRouteParts } from './rule-routes.ts'
import type { SignOuts } from './session.ts'
import { addToolRoutes, type ToolRouteParts } from './tool-routes.ts'
import { addVerdictRoutes, type VerdictRouteParts } from './verdict-routes.ts'
import { addWatchRoutes, type WatchParts } from './watch-routes.ts'

/** Collaborators. */
export interface AdminAppParts
  extends RouteParts,
    Omit<WatchParts, 'control'>,
    Omit<RuleRouteParts, 'control'>,
    ToolRouteParts,
    DrawRouteParts,
    VerdictRouteParts {
  readonly control: Control
  readonly signOuts: SignOuts
  readonly logger: Logger
}

/** The routes; `routing` answers a request of the server that listens. */
export function createAdminApp(parts: AdminAppParts): FastifyInstance {
  const app = createEdge(parts)
  parts.sessions.addRoutes(app, parts.signOuts)
  addSaleRoutes(app, parts)
  addWatchRoutes(app, parts)
  addRuleRoutes(app, parts)
  addToolRoutes(app, parts)
  addDrawRoutes(app, parts)
  addVerdictRoutes(app, parts)
  return app
}
