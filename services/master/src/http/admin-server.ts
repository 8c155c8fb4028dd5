/** The admin server: the console from this process, the admin API from whoever leads. */

import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from '@bigtap/kernel'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { createEdge } from './edge.ts'
import { addForwarder, type ForwarderParts } from './forwarder.ts'

/** Where it listens, and where the console's files lie. */
export interface AdminSettings {
  readonly host: string
  readonly port: number
  readonly consoleDir: string | undefined
}

/** Collaborators. */
export interface AdminParts extends ForwarderParts {
  readonly logger: Logger
}

/** The server; it answers from start() to stop(). */
export function createAdminServer({ host, port, consoleDir }: AdminSettings, parts: AdminParts) {
  const server = createEdge(parts)
  addForwarder(server, parts)
  addConsole(server, consoleDir ?? besideThisService())
  return {
    app: server,
    start: async (): Promise<string> => server.listen({ host, port }),
    stop: async (): Promise<void> => server.close(),
    /** The port it listens on; the configured one before. */
    port: (): number => {
      const address = server.server.address()
      return typeof address === 'object' && address !== null ? address.port : port
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
