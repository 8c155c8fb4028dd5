/** The admin server: API and console on one port. */

import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from '@bigtap/kernel'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { createEdge } from './edge.ts'
import { addSaleRoutes, type RouteParts } from './routes.ts'
import { addWatchRoutes, type WatchParts } from './watch-routes.ts'

/** Where it listens, and where the console's files lie. */
export interface AdminSettings {
  readonly host: string
  readonly port: number
  readonly consoleDir: string | undefined
}

/** Collaborators. */
export interface AdminParts extends RouteParts, WatchParts {
  readonly logger: Logger
}

/** The server; it answers from start() to stop(). */
export function createAdminServer({ host, port, consoleDir }: AdminSettings, parts: AdminParts) {
  const app = createEdge(parts)
  parts.sessions.addRoutes(app)
  addSaleRoutes(app, parts)
  addWatchRoutes(app, parts)
  addConsole(app, consoleDir ?? besideThisService())
  return {
    app,
    start: async (): Promise<string> => {
      parts.stream.start()
      return app.listen({ host, port })
    },
    stop: async (): Promise<void> => {
      parts.stream.stop()
      await app.close()
    },
  }
}

function addConsole(app: FastifyInstance, root: string): void {
  app.register(fastifyStatic, { root, cacheControl: false, serveDotFiles: false, etag: true })
}

/** `services/console/public`, from services/master/{src,dist}/http. */
function besideThisService(): string {
  return join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', 'console', 'public')
}
