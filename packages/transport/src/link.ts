import type { Socket } from 'node:net'
import { type Clock, CodedError } from '@bigtap/kernel'
import {
  decodeGoodbye,
  decodePing,
  decodePong,
  encodeGoodbye,
  encodePing,
  encodePong,
  FrameParser,
  HEADER_BYTES,
  type Hello,
  KIND,
  type Kind,
  writeHeader,
} from '@bigtap/protocol'
import type { Greeting } from './greeting.ts'
import type { CloseReason, LinkMetrics } from './link-metrics.ts'
import { HELLO_BYTES_MAX, type LinkLimits } from './link-settings.ts'

/**
 * State of a link or of a dialer.
 *
 *   idle → dialing → ready → draining → closed        a dialer goes from ready or draining back to dialing when its
 *                                                     link is lost; a link itself only goes forward
 */
export type LinkState = 'idle' | 'dialing' | 'ready' | 'draining' | 'closed'

/** One connection with a peer that has proved who it is. */
export interface Link {
  /** The peer's node id and role. */
  readonly nodeId: string
  readonly role: string
  /** Address of the peer's socket. */
  readonly remote: string
  readonly state: LinkState
  /** Bytes that wait for the peer. */
  readonly unsentBytes: number
  /** The peer's wall clock minus ours, ms; 0 until the first Pong. */
  readonly clockOffsetMs: number
  readonly roundTripMs: number
  /** Sends one frame; the body is copied, so the caller may use its buffer again. False: not sent, the caller sheds. */
  send(kind: Kind, correlation: number, body: Uint8Array): boolean
  /** Cuts the link at once. */
  close(reason: string): void
}

/** What a link tells its owner. Calls are never made from within send() or close(), but for `onClosed`. */
export interface LinkEvents {
  onReady(link: SocketLink): void
  /** `body` is valid only until the handler returns. A CodedError thrown here counts as a bad frame and closes the link. */
  onFrame(link: SocketLink, kind: Kind, correlation: number, body: Uint8Array): void
  /** The peer said Goodbye: it will read what is sent, but wants nothing new. */
  onGoodbye(link: SocketLink, reason: string): void
  /** Once, whatever ended the link. */
  onClosed(link: SocketLink, reason: CloseReason, detail: string): void
}

/** What a link works with, and whom it tells. */
export interface LinkParts {
  socket: Socket
  greeting: Greeting
  clock: Clock
  metrics: LinkMetrics
  events: LinkEvents
}

/** A link over a socket: frames in and out, the Hello, heartbeats and bounds. Its owner sweeps it. */
export class SocketLink implements Link {
  nodeId = ''
  role = ''
  clockOffsetMs = 0
  roundTripMs = 0
  /** Whether the peer said Goodbye. */
  peerLeaves = false
  remote = '?'
  readonly #limits: LinkLimits
  readonly #parts: LinkParts
  readonly #parser: FrameParser
  readonly #startedAt: number
  #state: LinkState = 'dialing'
  #wasReady = false
  #heardAt: number
  #pingedAt: number
  #flushedAt: number
  #endBy = Number.POSITIVE_INFINITY
  #isCorked = false

  constructor(limits: LinkLimits, parts: LinkParts) {
    this.#limits = limits
    this.#parts = parts
    this.#parser = new FrameParser({ bodyBytesMax: HELLO_BYTES_MAX })
    this.#startedAt = parts.clock.monotonic()
    this.#heardAt = this.#startedAt
    this.#pingedAt = this.#startedAt
    this.#flushedAt = this.#startedAt
  }

  get state(): LinkState {
    return this.#state
  }

  get unsentBytes(): number {
    return this.#parts.socket.writableLength
  }

  /** Begins to read, and says the first Hello when this end has one. */
  start(): void {
    const { socket, greeting } = this.#parts
    socket.setNoDelay(true)
    this.#noteRemote()
    socket.on('data', (chunk: Buffer) => this.#onData(chunk))
    socket.on('end', () => this.#finish('PEER_CLOSED', 'peer ended the link'))
    socket.on('error', (error) => this.#finish('SOCKET_ERROR', error.message))
    socket.on('close', () => this.#finish('PEER_CLOSED', 'socket closed'))
    const first = greeting.first()
    if (first !== undefined) this.#write(KIND.hello, 0, first)
  }

  send(kind: Kind, correlation: number, body: Uint8Array): boolean {
    if (this.#state !== 'ready' && this.#state !== 'draining') return false
    if (this.unsentBytes + HEADER_BYTES + body.length > this.#limits.unsentBytesMax) {
      this.#parts.metrics.shed.inc()
      return false
    }
    this.#write(kind, correlation, body)
    return true
  }

  close(reason: string): void {
    this.#finish('CLOSED', reason)
  }

  /** Cuts the link for one of the known reasons. */
  cut(reason: CloseReason, detail: string): void {
    this.#finish(reason, detail)
  }

  /** Says Goodbye and takes no new work; frames still go both ways until `end`. */
  drain(reason: string): void {
    if (this.#state !== 'ready') return
    this.#state = 'draining'
    this.#write(KIND.goodbye, 0, encodeGoodbye(reason))
  }

  /** Sends what waits, then closes; cuts the link if that takes longer than `withinMs`. */
  end(withinMs: number): void {
    if (this.#state === 'closed') return
    this.#endBy = this.#parts.clock.monotonic() + withinMs
    this.#uncork()
    this.#parts.socket.end()
  }

  /** Called by the owner's one timer. `isLate`: this process itself stood still, so silence proves nothing. */
  sweep(now: number, isLate: boolean): void {
    const { deadMs, helloMs, pingMs, stallMs } = this.#limits
    if (this.#state === 'closed') return
    if (now > this.#endBy) this.#finish('STOPPED', 'peer did not take the last bytes')
    else if (this.#state === 'dialing') {
      if (now - this.#startedAt > helloMs) this.#finish('HELLO_TIMEOUT', `no hello within ${helloMs} ms`)
    } else if (!isLate && now - this.#heardAt > deadMs) {
      this.#finish('DEAD', `silent for more than ${deadMs} ms`)
    } else if (this.unsentBytes > 0 && now - this.#flushedAt > stallMs) {
      this.#finish('STALLED', `peer took nothing for ${stallMs} ms`)
    } else if (now - this.#heardAt >= pingMs && now - this.#pingedAt >= pingMs) {
      this.#pingedAt = now
      this.send(KIND.ping, 0, encodePing(Math.floor(this.#parts.clock.now())))
    }
  }

  #onData(chunk: Buffer): void {
    this.#heardAt = this.#parts.clock.monotonic()
    this.#parts.metrics.bytesIn += chunk.length
    try {
      this.#parser.push(chunk, this.#onFrame)
    } catch (error) {
      if (!(error instanceof CodedError)) throw error
      this.#parts.metrics.badFrames.inc()
      this.#finish('BAD_FRAME', `${error.code}: ${error.message}`)
    }
  }

  readonly #onFrame = (kind: Kind, correlation: number, body: Uint8Array): void => {
    if (this.#state === 'closed') return
    this.#parts.metrics.framesIn++
    if (this.#state === 'dialing') this.#onGreeting(kind, body)
    else this.#onReadyFrame(kind, correlation, body)
  }

  #onReadyFrame(kind: Kind, correlation: number, body: Uint8Array): void {
    switch (kind) {
      case KIND.ping:
        this.send(KIND.pong, correlation, encodePong({ sentAt: decodePing(body), now: this.#wallMs() }))
        return
      case KIND.pong:
        this.#onPong(body)
        return
      case KIND.goodbye:
        this.peerLeaves = true
        this.#parts.events.onGoodbye(this, decodeGoodbye(body))
        return
      case KIND.hello:
        this.#parts.metrics.badFrames.inc()
        this.#finish('BAD_FRAME', 'second hello')
        return
      default:
        this.#parts.events.onFrame(this, kind, correlation, body)
    }
  }

  #onGreeting(kind: Kind, body: Uint8Array): void {
    if (kind !== KIND.hello) {
      this.#parts.metrics.badFrames.inc()
      this.#finish('BAD_HELLO', `first frame has kind ${kind}`)
      return
    }
    const step = this.#parts.greeting.receive(body)
    if (step.kind === 'refused') {
      this.#finish(step.reason, 'hello was refused')
      return
    }
    if (step.kind === 'answer') this.#write(KIND.hello, 0, step.body)
    if (step.peer !== undefined) this.#becomeReady(step.peer)
  }

  #becomeReady(peer: Hello): void {
    this.#noteRemote()
    this.nodeId = peer.nodeId
    this.role = peer.role
    this.#state = 'ready'
    this.#wasReady = true
    this.#parser.bodyBytesMax = this.#limits.bodyBytesMax
    this.#parts.metrics.open++
    this.#parts.events.onReady(this)
  }

  /** Offset by Cristian's method: the peer read its clock half a round trip ago. */
  #onPong(body: Uint8Array): void {
    const { sentAt, now } = decodePong(body)
    const wall = this.#wallMs()
    this.roundTripMs = Math.max(0, wall - sentAt)
    this.clockOffsetMs = now - (wall - this.roundTripMs / 2)
  }

  /** A dialer's socket has no remote address before it is connected. */
  #noteRemote(): void {
    const { remoteAddress, remotePort } = this.#parts.socket
    if (remoteAddress !== undefined) this.remote = `${remoteAddress}:${remotePort ?? 0}`
  }

  #wallMs(): number {
    return Math.floor(this.#parts.clock.now())
  }

  /** Frames of one turn leave in one system call: the socket is corked until the turn's end. */
  #write(kind: Kind, correlation: number, body: Uint8Array): void {
    const { socket, metrics } = this.#parts
    const frame = Buffer.allocUnsafe(HEADER_BYTES + body.length)
    writeHeader(frame, 0, kind, correlation, body.length)
    frame.set(body, HEADER_BYTES)
    if (socket.writableLength === 0) this.#flushedAt = this.#parts.clock.monotonic()
    if (!this.#isCorked) {
      this.#isCorked = true
      socket.cork()
      process.nextTick(this.#uncork)
    }
    socket.write(frame, this.#onFlushed)
    metrics.framesOut++
    metrics.bytesOut += frame.length
  }

  readonly #uncork = (): void => {
    if (!this.#isCorked) return
    this.#isCorked = false
    this.#parts.socket.uncork()
  }

  readonly #onFlushed = (): void => {
    this.#flushedAt = this.#parts.clock.monotonic()
  }

  #finish(reason: CloseReason, detail: string): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    const { socket, metrics, events } = this.#parts
    if (this.#wasReady) metrics.open--
    metrics.closed(reason)
    socket.destroy()
    events.onClosed(this, reason, detail)
  }
}
