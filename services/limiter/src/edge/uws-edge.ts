/** The edge on uWebSockets.js. */

import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js'
import { createRequire } from 'node:module'
import { CodedError } from '@bigtap/kernel'
import { plainAddress } from '../core/address.ts'
import type { Reply } from '../core/reply.ts'
import { AddressCaps } from './address-caps.ts'
import { type Edge, type EdgeParts, type EdgeSettings, type Exchange, type Held, NO_CAP } from './edge.ts'

/** What we use of the package. */
export interface Uws {
  App(): TemplatedApp
  us_listen_socket_close(socket: us_listen_socket): void
  us_socket_local_port(socket: us_listen_socket): number
}

/** Without it a second process takes the same port in silence. */
const EXCLUSIVE_PORT = 1

/**
 * Loads the package when it is native here; undefined where it is missing or has fallen back to its slow JavaScript
 * server (native functions have no source text).
 */
export function loadUws(): Uws | undefined {
  const { warn, log } = console
  try {
    // The fallback announces itself in prose; our own log line says it as JSON.
    console.warn = () => undefined
    console.log = () => undefined
    const uws = createRequire(import.meta.url)('uWebSockets.js') as Uws
    return /\[native code\]/.test(Function.prototype.toString.call(uws.App)) ? uws : undefined
  } catch {
    return undefined // not installed: the caller takes node:http and says so
  } finally {
    console.warn = warn
    console.log = log
  }
}

/** Makes the edge; start() listens. */
export function createUwsEdge(uws: Uws, settings: EdgeSettings, parts: EdgeParts): Edge {
  const caps = new AddressCaps(parts.capOf ?? (() => NO_CAP))
  const state: State = { held: 0, isStopping: false, pool: [], caps }
  const exchange = new UwsExchange(settings, parts, state)
  const app = uws.App()
  app.get('/*', (response, request) => serve(exchange.begin(response, request, 'GET'), parts))
  app.post('/*', (response, request) => serve(exchange.begin(response, request, 'POST'), parts))
  app.any('/*', (response, request) =>
    serve(exchange.begin(response, request, request.getCaseSensitiveMethod()), parts),
  )
  let socket: us_listen_socket | undefined
  return {
    kind: 'uws',
    caps,
    get held() {
      return state.held
    },
    start: () =>
      new Promise((resolve, reject) => {
        const { host, port } = settings
        const listen = app.listen as unknown as ListenExclusive
        listen.call(app, host, port, EXCLUSIVE_PORT, (listening) => {
          if (listening === false) {
            reject(new CodedError({ code: 'PORT_TAKEN', message: `cannot listen on ${host}:${port}` }))
            return
          }
          socket = listening
          resolve(uws.us_socket_local_port(listening))
        })
      }),
    stop: async () => {
      state.isStopping = true
      if (socket !== undefined) uws.us_listen_socket_close(socket)
      socket = undefined
    },
  }
}

/** The package's types lack this form. */
type ListenExclusive = (
  host: string,
  port: number,
  options: number,
  onListen: (socket: us_listen_socket | false) => void,
) => TemplatedApp

interface State {
  held: number
  isStopping: boolean
  readonly pool: UwsHeld[]
  readonly caps: AddressCaps
}

/** Takes a reply and does nothing: its request was answered. */
const ANSWERED: Held = { reply: () => undefined }

function serve(exchange: UwsExchange, { onExchange, onError, faults }: EdgeParts): void {
  try {
    onExchange(exchange)
    if (!exchange.isTaken) throw new Error(`nobody answers ${exchange.method}`)
  } catch (error) {
    onError(error)
    if (!exchange.isTaken) exchange.reply(faults.internal)
  }
}

/** One object for all requests: it is valid only while the handler runs, and handlers do not nest. */
class UwsExchange implements Exchange {
  method = ''
  path = ''
  isTaken = false
  readonly #settings: EdgeSettings
  readonly #parts: EdgeParts
  readonly #state: State
  #response: HttpResponse | undefined
  #request: HttpRequest | undefined
  #address = ''

  constructor(settings: EdgeSettings, parts: EdgeParts, state: State) {
    this.#settings = settings
    this.#parts = parts
    this.#state = state
  }

  begin(response: HttpResponse, request: HttpRequest, method: string): this {
    this.#response = response
    this.#request = request
    this.method = method
    this.path = request.getUrl()
    this.isTaken = false
    this.#address = ''
    return this
  }

  header(name: string): string {
    return this.#request?.getHeader(name) ?? ''
  }

  remoteAddress(): string {
    if (this.#address === '' && this.#response !== undefined) this.#address = this.#readAddress(this.#response)
    return this.#address
  }

  #readAddress(response: HttpResponse): string {
    // The binary form costs half of the text.
    const bytes = new Uint8Array(response.getRemoteAddress())
    if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`
    return Buffer.from(response.getRemoteAddressAsText()).toString('latin1')
  }

  reply(reply: Reply): void {
    this.isTaken = true
    if (this.#response !== undefined) write(this.#response, reply, this.method, this.#state.isStopping)
  }

  /** The package does not tell of connections; each has one request that is held at most, and those are counted. */
  hold(): Held {
    const { caps, pool } = this.#state
    const address = plainAddress(this.remoteAddress())
    if (!caps.connect(address)) {
      this.reply(this.#parts.faults.crowded)
      return ANSWERED
    }
    this.isTaken = true
    const held = pool.pop() ?? new UwsHeld(this.#state)
    this.#state.held++
    if (this.#response !== undefined) held.begin(this.#response, this.method, address)
    return held
  }

  readBody(onBody: (held: Held, body: Uint8Array) => void): void {
    const { bodyBytesMax, bodyMsMax } = this.#settings
    const { faults } = this.#parts
    const response = this.#response
    if (Number(this.header('content-length')) > bodyBytesMax) {
      this.reply(faults.bodyTooLarge)
      return
    }
    const { caps } = this.#state
    const address = plainAddress(this.remoteAddress())
    if (!caps.beginSending(address)) {
      this.reply(faults.crowded)
      return
    }
    const held = this.hold()
    if (!(held instanceof UwsHeld)) {
      caps.endSending(address)
      return
    }
    const chunks: Buffer[] = []
    let length = 0
    let isDone = false
    const end = (answer: () => void) => {
      if (isDone) return
      isDone = true
      clearTimeout(late)
      caps.endSending(address)
      answer()
    }
    const late = setTimeout(() => end(() => held.reply(faults.requestTimeout)), bodyMsMax)
    response?.onAborted(() => {
      held.onAborted()
      end(() => held.reply(faults.badRequest))
    })
    response?.onData((chunk, isLast) => {
      length += chunk.byteLength
      if (length > bodyBytesMax) end(() => held.reply(faults.bodyTooLarge))
      if (!isDone) chunks.push(Buffer.from(Buffer.from(chunk))) // copied: the native buffer is taken back
      if (isLast) end(() => onBody(held, Buffer.concat(chunks, length)))
    })
  }
}

/** A response that is written later. Pooled with its closures: 0 closures per held request. */
class UwsHeld implements Held {
  readonly #state: State
  #response: HttpResponse | undefined
  #method = ''
  #reply: Reply | undefined
  #address = ''

  constructor(state: State) {
    this.#state = state
  }

  begin(response: HttpResponse, method: string, address: string): void {
    this.#address = address
    this.#response = response
    this.#method = method
    response.onAborted(this.onAborted)
  }

  reply(reply: Reply): void {
    const response = this.#response
    if (response !== undefined) {
      this.#reply = reply
      response.cork(this.#write)
    }
    this.#response = undefined
    this.#reply = undefined
    this.#state.held--
    this.#state.caps.disconnect(this.#address)
    this.#state.pool.push(this)
  }

  readonly onAborted = (): void => {
    this.#response = undefined
  }

  readonly #write = (): void => {
    if (this.#response !== undefined && this.#reply !== undefined) {
      write(this.#response, this.#reply, this.#method, this.#state.isStopping)
    }
  }
}

function write(response: HttpResponse, reply: Reply, method: string, isStopping: boolean): void {
  if (reply.status !== 200) response.writeStatus(reply.statusLine)
  response.writeHeader('content-type', reply.block)
  if (method !== 'HEAD' && reply.status !== 304) {
    response.end(reply.body, reply.closes || isStopping)
    return
  }
  // With an argument, this version takes the reply for unfinished and ends the process.
  if (method === 'HEAD') response.writeHeader('content-length', String(Buffer.byteLength(reply.body)))
  response.endWithoutBody()
}
