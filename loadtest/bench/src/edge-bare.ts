/** The baseline of bench `edge`, a process: a bare uWebSockets.js handler that answers one fixed reply and reads nothing. */

import type { TemplatedApp, us_listen_socket } from 'uWebSockets.js'
import { createRequire } from 'node:module'

const { App, us_socket_local_port } = createRequire(import.meta.url)('uWebSockets.js') as {
  App(): TemplatedApp
  us_socket_local_port(socket: us_listen_socket): number
}

/** What the parent says first. */
export interface BareReply {
  readonly status: string
  readonly contentType: string
  readonly body: string
}

process.on('disconnect', () => process.exit(0))
process.on('message', (message: BareReply | 'cpu') => {
  if (message === 'cpu') process.send?.(process.cpuUsage())
  else serve(message)
})

function serve({ status, contentType, body }: BareReply): void {
  App()
    .any('/*', (response) => {
      response.writeStatus(status).writeHeader('content-type', contentType).end(body)
    })
    .listen(0, (socket) => {
      process.send?.(socket === false ? 0 : us_socket_local_port(socket))
    })
}
