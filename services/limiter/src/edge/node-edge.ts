/** The edge on node:http: on Node.js versions without a native uWebSockets.js, and by BIGTAP_EDGE=node. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Reply } from '../core/reply.ts'
import type { Edge, EdgeParts, EdgeSettings, Exchange, Held } from './edge.ts'

const HEADERS_BYTES_MAX = 8_192
const HEADERS_MS_MAX = 10_000
const KEEP_ALIVE_MS = 10_000
const CHECK_EVERY_MS = 1_000

/** Makes the edge; start() listens. */
export function createNodeEdge(settings: EdgeSettings, parts: EdgeParts): Edge {
  const state = { held: 0, isStopping: false }
  let connections = 0
  const server = createServer(
    {
      maxHeaderSize: HEADERS_BYTES_MAX,
      headersTimeout: HEADERS_MS_MAX,
      requestTimeout: HEADERS_MS_MAX + settings.bodyMsMax,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: CHECK_EVERY_MS,
      noDelay: true,
    },
    (request, response) => serve(new NodeExchange(request, response, { settings, parts, state }), parts),
  )
  server.on('connection', (socket) => {
    connections++
    socket.on('close', () => connections--)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuse(error, socket as Socket, parts))
  return {
    kind: 'node',
    get held() {
      return state.held
    },
    get connections() {
      return connections
    },
    start: () => listen(server, settings),
    stop: async () => {
      state.isStopping = true
      server.close()
      server.closeIdleConnections()
    },
  }
}

function serve(exchange: NodeExchange, { onExchange, onError, faults }: EdgeParts): void {
  try {
    onExchange(exchange)
    if (!exchange.isTaken) throw new Error(`nobody answers ${exchange.method}`)
  } catch (error) {
    onError(error)
    exchange.reply(faults.internal)
  }
}

function listen(server: Server, { host, port }: EdgeSettings): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port))
  })
}

/** What could not be parsed: 400 (431 and 408 where Node says so), and the connection is closed. */
function refuse(error: NodeJS.ErrnoException, socket: Socket, { faults }: EdgeParts): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return void socket.end(
      'HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
    )
  }
  const { statusLine, block, body } =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? faults.requestTimeout : faults.badRequest
  const length = Buffer.byteLength(body)
  socket.end(
    `HTTP/1.1 ${statusLine}\r\ncontent-type: ${block}\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n${body}`,
  )
}

interface Context {
  readonly settings: EdgeSettings
  readonly parts: EdgeParts
  readonly state: { held: number; isStopping: boolean }
}

class NodeExchange implements Exchange, Held {
  readonly method: string
  readonly path: string
  isTaken = false
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #context: Context
  #isHeld = false
  #isAnswered = false

  constructor(request: IncomingMessage, response: ServerResponse, context: Context) {
    const url = request.url ?? '/'
    const query = url.indexOf('?')
    this.method = request.method ?? ''
    this.path = query < 0 ? url : url.slice(0, query)
    this.#request = request
    this.#response = response
    this.#context = context
    response.on('error', () => undefined) // the client has gone; its reply falls to nothing
  }

  header(name: string): string {
    const value = this.#request.headers[name]
    return typeof value === 'string' ? value : (value?.join(', ') ?? '')
  }

  remoteAddress(): string {
    return this.#request.socket.remoteAddress ?? ''
  }

  reply(reply: Reply): void {
    this.isTaken = true
    if (this.#isAnswered) return
    this.#isAnswered = true
    if (this.#isHeld) this.#context.state.held--
    const response = this.#response
    if (response.destroyed || response.headersSent) return
    response.shouldKeepAlive = response.shouldKeepAlive && !reply.closes && !this.#context.state.isStopping
    response.writeHead(reply.status, this.#headersOf(reply)).end(reply.body)
  }

  hold(): Held {
    this.isTaken = true
    this.#isHeld = true
    this.#context.state.held++
    return this
  }

  readBody(onBody: (held: Held, body: Uint8Array) => void): void {
    const { settings, parts } = this.#context
    const held = this.hold()
    if (Number(this.#request.headers['content-length'] ?? 0) > settings.bodyBytesMax) {
      held.reply(parts.faults.bodyTooLarge)
      return
    }
    const chunks: Buffer[] = []
    let length = 0
    const late = setTimeout(() => held.reply(parts.faults.requestTimeout), settings.bodyMsMax)
    this.#request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= settings.bodyBytesMax) chunks.push(chunk)
      else held.reply(parts.faults.bodyTooLarge)
    })
    this.#request.on('close', () => clearTimeout(late))
    this.#request.on('error', () => held.reply(parts.faults.badRequest))
    this.#request.on('end', () => {
      clearTimeout(late)
      if (!this.#isAnswered) onBody(held, Buffer.concat(chunks, length))
    })
  }

  /** Flat, as writeHead takes them. */
  #headersOf({ headers, body, status }: Reply): string[] {
    return status === 304 ? [...headers] : [...headers, 'content-length', String(Buffer.byteLength(body))]
  }
}
