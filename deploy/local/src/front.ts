/** The one public origin of the local platform: a process that stands in for an ingress. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { runService } from '@bigtap/runtime'
import { createProxy } from './front-proxy.ts'
import { targetOf } from './front-routes.ts'
import { settings as spec } from './front-settings.ts'
import { createStaticFiles } from './front-static.ts'

const HEADERS_MS_MAX = 10_000
const REQUEST_MS_MAX = 15_000
const IDLE_MS_MAX = 65_000
const HEADER_BYTES_MAX = 16_384
const storefront = fileURLToPath(new URL('../../../services/storefront/public', import.meta.url))

await runService('front', spec, ({ settings, logger }) => {
  const proxy = createProxy(settings)
  const files = createStaticFiles(storefront)
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_MS_MAX,
      requestTimeout: REQUEST_MS_MAX,
      keepAliveTimeout: IDLE_MS_MAX,
    },
    (request: IncomingMessage, response: ServerResponse) =>
      targetOf(request.url ?? '/') === 'storefront' ? files(request, response) : proxy.handle(request, response),
  )
  return [
    {
      name: 'front',
      start: () =>
        new Promise<void>((resolve, reject) => {
          server.once('error', reject)
          server.listen(settings.port, settings.host, () => {
            logger.info({ port: (server.address() as AddressInfo).port }, 'front listens')
            resolve()
          })
        }),
      stop: async () => {
        server.close()
        server.closeAllConnections()
        await proxy.close()
      },
      ready: () => server.listening,
    },
  ]
})
