/** The edge on node:http: on Node.js versions without a native uWebSockets.js, and by BIGTAP_EDGE=node. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { plainAddress } from '../core/address.ts'
import type { Reply } from '../core/reply.ts'
import { AddressCaps } from './address-caps.ts'
import { type Edge, type EdgeParts, type EdgeSettings, type Exchange, type Held, NO_CAP } from './edge.ts'

const HEADERS_BYTES_MAX = 8_192
const HEADERS_MS_MAX = 10_000
const KEEP_ALIVE_MS = 10_000
const CHECK_EVERY_MS = 1_000

/** Makes the edge; start() listens. */
export function createNodeEdge(settings: EdgeSettings, parts: EdgeParts): Edge {
  const caps = new AddressCaps(parts.capOf ?? (() => NO_CAP))
  const state = { held: 0, isStopping: false, caps, sending: new WeakSet<Socket>() }
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
    (request, response) => {
      endSending(request.socket, state)
      serve(new NodeExchange(request, response, { settings, parts, state }), parts)
    },
  )
  server.on('connection', (socket) => {
    if (!admit(socket, state)) return
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
    caps,
    start: () => listen(server, settings),
    stop: async () => {
      state.isStopping = true
      server.close()
      server.closeIdleConnections()
    },
  }
}

/** A connection that its address may not have is ended before anything of it is read. */
function admit(socket: Socket, state: State): boolean {
  const address = plainAddress(socket.remoteAddress ?? '')
  if (!state.caps.connect(address)) {
    socket.destroy()
    return false
  }
  socket.on('close', () => state.caps.disconnect(address))
  if (!state.caps.beginSending(address)) {
    socket.destroy()
    return false
  }
  // Until its first request is whole; later ones on the same connection are bounded by the connections.
  state.sending.add(socket)
  socket.on('close', () => endSending(socket, state, address))
  return true
}

function endSending(socket: Socket, state: State, address = plainAddress(socket.remoteAddress ?? '')): void {
  if (state.sending.delete(socket)) state.caps.endSending(address)
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

interface State {
  held: number
  isStopping: boolean
  readonly caps: AddressCaps
  readonly sending: WeakSet<Socket>
}

interface Context {
  readonly settings: EdgeSettings
  readonly parts: EdgeParts
  readonly state: State
}

class NodeExchange implements Exchange, Held {
  readonly method: string
  readonly path: string
  isTaken = false
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #context: Context
  #isHeld = false
  /** The address whose body is being read, '' when none is. */
  #sendsFrom = ''
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
    this.#endSending()
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
    const { settings, parts, state } = this.#context
    const address = plainAddress(this.remoteAddress())
    if (!state.caps.beginSending(address)) {
      this.reply(parts.faults.crowded)
      return
    }
    const held = this.hold()
    this.#sendsFrom = address
    this.#request.on('close', () => this.#endSending())
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
      this.#endSending()
      if (!this.#isAnswered) onBody(held, Buffer.concat(chunks, length))
    })
  }

  #endSending(): void {
    if (this.#sendsFrom !== '') this.#context.state.caps.endSending(this.#sendsFrom)
    this.#sendsFrom = ''
  }

  /** Flat, as writeHead takes them. */
  #headersOf({ headers, body, status }: Reply): string[] {
    return status === 304 ? [...headers] : [...headers, 'content-length', String(Buffer.byteLength(body))]
  }
}
