/** The Redis protocol over TCP. */

import { createServer, type Server, type Socket } from 'node:net'
import type { Counter, Logger, Metrics } from '@bigtap/kernel'
import type { CommandContext } from './command.ts'
import { runCommand } from './commands.ts'
import { parseCommand } from './parser.ts'
import { Session } from './session.ts'

/** Where to listen, and the limits. */
export interface RespServerSettings {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  readonly clientsMax?: number
}

/** What the server works with. */
export interface RespServerParts {
  readonly context: CommandContext
  readonly logger: Logger
  readonly metrics: Metrics
}

/** Limits of the server, for /debug/config and the README. */
export const RESP_LIMITS = {
  clientsMax: 256,
  /** Commands of one client in one turn; the rest waits for the next one. */
  commandsPerTurnMax: 1_024,
  /** A client with more than this to read has to read before more of its commands are run. */
  unreadBytesPause: 262_144,
  /** A client with more than this to read when the next message comes is cut. */
  unreadBytesMax: 1_048_576,
} as const

/** Takes clients, runs their commands, sends them what they listen to. */
export class RespServer {
  readonly limits: Readonly<Record<string, number>>
  readonly #settings: RespServerSettings
  readonly #parts: RespServerParts
  readonly #tcp: Server
  readonly #clients = new Set<Client>()
  readonly #cut: Counter
  readonly #refused: Counter
  readonly #commands: Counter
  #lastId = 0

  constructor(settings: RespServerSettings, parts: RespServerParts) {
    this.#settings = settings
    this.#parts = parts
    this.limits = { ...RESP_LIMITS, clientsMax: settings.clientsMax ?? RESP_LIMITS.clientsMax }
    const { metrics } = parts
    metrics.gauge('bigtap_dcacenter_clients_count', 'Clients of the Redis protocol', () => this.#clients.size)
    this.#cut = metrics.counter('bigtap_dcacenter_clients_cut_total', 'Clients cut because they did not read')
    this.#refused = metrics.counter('bigtap_dcacenter_clients_refused_total', 'Clients refused: too many at a time')
    this.#commands = metrics.counter('bigtap_dcacenter_commands_total', 'Commands of the Redis protocol')
    this.#tcp = createServer({ noDelay: true }, (socket) => this.#accept(socket))
  }

  get clients(): number {
    return this.#clients.size
  }

  /** Listens and gives the port; rejects when it is taken. */
  start(): Promise<number> {
    const { host, port } = this.#settings
    return new Promise((resolve, reject) => {
      this.#tcp.once('error', reject)
      this.#tcp.listen({ host, port }, () => {
        this.#tcp.off('error', reject)
        this.#tcp.on('error', (error) => this.#parts.logger.error({ reason: error.message }, 'listening socket failed'))
        const address = this.#tcp.address()
        resolve(typeof address === 'object' && address !== null ? address.port : port)
      })
    })
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#tcp.close(() => resolve()))
    for (const client of this.#clients) client.close()
    await closed
  }

  /** Does anybody listen to this channel? Saves making messages that nobody reads. */
  hasListener(channel: string): boolean {
    for (const { session } of this.#clients) if (session.wants(channel)) return true
    return false
  }

  /** Sends a message to all who listen. */
  publish(channel: string, text: string): void {
    for (const client of this.#clients) {
      if (!client.session.wants(channel)) continue
      if (client.unreadBytes > RESP_LIMITS.unreadBytesMax) {
        this.#cut.inc()
        this.#parts.logger.warn({ client: client.session.id, unreadBytes: client.unreadBytes }, 'client does not read')
        client.close()
      } else {
        client.session.deliver(channel, text)
        client.flush()
      }
    }
  }

  #accept(socket: Socket): void {
    if (this.#clients.size >= (this.limits.clientsMax ?? 0)) {
      this.#refused.inc()
      socket.on('error', () => undefined) // it is sent away whatever becomes of its socket
      socket.end('-ERR max number of clients reached\r\n')
      return
    }
    const { context } = this.#parts
    const session = new Session({ id: ++this.#lastId, isTrusted: context.isPassword === undefined })
    const client = new Client(socket, session, {
      onCommand: (args) => {
        this.#commands.inc()
        runCommand(args, session, context)
      },
      onClose: () => void this.#clients.delete(client),
    })
    this.#clients.add(client)
  }
}

interface ClientEvents {
  onCommand(args: string[]): void
  onClose(): void
}

/**
 * One connection. What came and has not been run yet is kept, at most one command and a chunk: while a client has much to
 * read, or has had its share of the turn, its socket is not read.
 */
class Client {
  readonly session: Session
  readonly #socket: Socket
  readonly #events: ClientEvents
  #pending: Buffer = Buffer.alloc(0)
  #isResting = false

  constructor(socket: Socket, session: Session, events: ClientEvents) {
    this.session = session
    this.#socket = socket
    this.#events = events
    socket.on('data', (chunk: Buffer) => {
      this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
      if (!this.#isResting) this.#run()
    })
    socket.on('error', () => socket.destroy()) // a client that is gone is no fault of ours; `close` follows
    socket.on('close', () => events.onClose())
    socket.on('drain', () => this.#goOn())
  }

  get unreadBytes(): number {
    return this.#socket.writableLength
  }

  close(): void {
    this.#socket.destroy()
  }

  flush(): void {
    const text = this.session.writer.take()
    if (text !== '' && this.#socket.writable) this.#socket.write(text)
  }

  /** Runs what is complete, up to its share of a turn. */
  #run(): void {
    let at = 0
    let commands = 0
    let isMore = false
    while (!this.session.isLeaving) {
      const outcome = parseCommand(this.#pending, at)
      if (outcome.kind === 'more') break
      if (outcome.kind === 'bad') {
        this.session.writer.error(`ERR Protocol error: ${outcome.message}`)
        this.session.isLeaving = true
        break
      }
      at += outcome.bytes
      if (outcome.args.length > 0) this.#events.onCommand(outcome.args)
      // Long replies are sent as they are made: a command may make a megabyte.
      if (this.session.writer.length > RESP_LIMITS.unreadBytesPause) this.flush()
      isMore = ++commands >= RESP_LIMITS.commandsPerTurnMax || this.unreadBytes > RESP_LIMITS.unreadBytesPause
      if (isMore) break
    }
    this.#pending = at === 0 ? this.#pending : Buffer.from(this.#pending.subarray(at))
    this.flush()
    if (this.session.isLeaving) this.#socket.end()
    else if (isMore) this.#rest()
  }

  #rest(): void {
    this.#isResting = true
    this.#socket.pause()
    if (this.unreadBytes <= RESP_LIMITS.unreadBytesPause) setImmediate(() => this.#goOn())
  }

  #goOn(): void {
    if (!this.#isResting || this.#socket.destroyed) return
    this.#isResting = false
    this.#run()
    if (!this.#isResting) this.#socket.resume()
  }
}
