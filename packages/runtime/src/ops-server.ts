/** The operations port: /healthz /readyz /metrics /debug/config, and what a service adds. */

import { createServer, type Server } from 'node:http'
import type { MetricsRegistry } from './metrics.ts'

/** What the operations port tells. */
export interface OpsSource {
  readonly metrics: MetricsRegistry
  readonly isReady: () => boolean
  /** Names of the parts that are not ready yet. */
  readonly waitingFor: () => string[]
  readonly config: () => Record<string, unknown>
  readonly pages: ReadonlyMap<string, () => unknown>
}

const REQUEST_MS_MAX = 5_000

/** Starts to listen; rejects when the port is taken. */
export function startOpsServer(host: string, port: number, source: OpsSource): Promise<Server> {
  const server = createServer(
    { requestTimeout: REQUEST_MS_MAX, headersTimeout: REQUEST_MS_MAX },
    (request, response) => {
      answer(source, request.url?.split('?')[0] ?? '/').then(
        ({ status, type, body }) => response.writeHead(status, { 'content-type': type }).end(body),
        (error: unknown) => response.writeHead(500, { 'content-type': 'text/plain' }).end(String(error)),
      )
    },
  )
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve(server))
  })
}

async function answer(source: OpsSource, path: string): Promise<{ status: number; type: string; body: string }> {
  const json = (status: number, value: unknown) => ({ status, type: 'application/json', body: JSON.stringify(value) })
  if (path === '/healthz') return json(200, { ok: true })
  if (path === '/readyz') {
    const isReady = source.isReady()
    return json(isReady ? 200 : 503, { ok: isReady, waitingFor: source.waitingFor() })
  }
  if (path === '/metrics') return { status: 200, type: source.metrics.contentType, body: await source.metrics.text() }
  if (path === '/debug/config') return json(200, source.config())
  const page = source.pages.get(path)
  return page ? json(200, await page()) : json(404, { code: 'not_found' })
}
