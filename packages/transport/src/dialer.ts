import { connect } from 'node:net'
import { backoffMs, type Clock, type Logger, type Metrics, type Random } from '@bigtap/kernel'
import { type Kind, NONCE_BYTES } from '@bigtap/protocol'
import { createGreeting } from './greeting.ts'
import { type Heartbeat, startHeartbeat } from './heartbeat.ts'
import { linkKey } from './hello-proof.ts'
import { type Link, type LinkState, SocketLink } from './link.ts'
import { type CloseReason, type LinkMetrics, linkMetricsOf } from './link-metrics.ts'
import { DEFAULT_LIMITS, type Identity, type LinkLimits } from './link-settings.ts'
import { limitsOf, until } from './server.ts'
import { TransportError } from './transport-error.ts'

/** Whom to dial, and how patiently. */
export interface DialerSettings extends Identity, Partial<LinkLimits> {
  /** "host:port" of the server. */
  address: string
  /** When set, only this node is accepted at the other end. */
  peerNodeId?: string
  /** Wait before the second try; doubles up to backoffMaxMs, with jitter. */
  backoffBaseMs?: number
  backoffMaxMs?: number
}

/** What a dialer works with, and whom it tells. */
export interface DialerParts {
  logger: Logger
  metrics: Metrics
  clock: Clock
  random: Random
  /** `body` is valid only until the handler returns. A CodedError thrown here closes the link as a bad frame. */
  onFrame(link: Link, kind: Kind, correlation: number, body: Uint8Array): void
  /** The link stands: again after each reconnect. */
  onLink?(link: Link): void
  /** A link that was ready has ended; what was in flight on it has an unknown outcome. */
  onClose?(link: Link, reason: CloseReason): void
  /** Calls under way; stop() waits for 0 before it closes the link. */
  inFlight?(): number
}

/** Which node stands at the other end. */
export interface Peer {
  nodeId: string
  role: string
}

/** The transitions of a dialer; any other throws. */
const NEXT: Readonly<Record<LinkState, readonly LinkState[]>> = {
  idle: ['dialing', 'closed'],
  dialing: ['dialing', 'ready', 'closed'],
  ready: ['draining', 'dialing', 'closed'],
  draining: ['dialing', 'closed'],
  closed: [],
}

/**
 * Keeps one link to a server: dials, greets, and dials again with backoff and jitter whenever the link is lost.
 *
 *   idle ─start─► dialing ─hello─► ready ─goodbye of the peer, or stop─► draining
 *                  ▲  ▲              │                                      │
 *                  │  └──── lost ────┘ ◄──────────────── lost ──────────────┘     stop → closed, from anywhere
 */
export class Dialer {
  readonly address: string
  /** For /debug/config: the limits that hold. */
  readonly limits: Readonly<LinkLimits>
  readonly #settings: DialerSettings
  readonly #parts: DialerParts
  readonly #metrics: LinkMetrics
  readonly #key: ReturnType<typeof linkKey>
  readonly #host: string
  readonly #port: number
  readonly #swept = new Set<SocketLink>()
  #state: LinkState = 'idle'
  #current: SocketLink | undefined
  #heartbeat: Heartbeat | undefined
  #retry: NodeJS.Timeout | undefined
  #attempt = 0
  #isStopping = false

  constructor(settings: DialerSettings, parts: DialerParts) {
    const { host, port } = parseAddress(settings.address)
    this.address = settings.address
    this.limits = Object.freeze(limitsOf({ ...DEFAULT_LIMITS, ...settings }))
    this.#settings = settings
    this.#parts = parts
    this.#metrics = linkMetricsOf(parts.metrics)
    this.#key = linkKey(settings.clusterSecret)
    this.#host = host
    this.#port = port
  }

  get state(): LinkState {
    return this.#state
  }

  /** The link while it is ready or draining. */
  get link(): Link | undefined {
    return this.#state === 'ready' || this.#state === 'draining' ? this.#current : undefined
  }

  get peer(): Peer | undefined {
    const { link } = this
    return link === undefined ? undefined : { nodeId: link.nodeId, role: link.role }
  }

  /** Begins to dial; does not wait for the link. */
  start(): void {
    if (this.#state !== 'idle') return
    this.#heartbeat = startHeartbeat(this.limits.pingMs, this.#swept, this.#parts.clock)
    this.#dial()
  }

  /** Waits until the link is ready; false when it was not within `withinMs`. */
  async ready(withinMs: number): Promise<boolean> {
    await until(() => this.#state === 'ready' || this.#state === 'closed', withinMs, this.#parts.clock)
    return this.#state === 'ready'
  }

  /** Sends one frame when the link is ready; the body is copied. False: not sent, the caller sheds. */
  send(kind: Kind, correlation: number, body: Uint8Array): boolean {
    return this.#state === 'ready' && this.#current !== undefined && this.#current.send(kind, correlation, body)
  }

  /** Says Goodbye, waits for what is under way (drainMs at most), flushes and closes. */
  async stop(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    clearTimeout(this.#retry)
    if (this.link !== undefined) {
      if (this.#state === 'ready') this.#enter('draining')
      this.#current?.drain('dialer stops')
      await until(() => this.#isIdle(), this.limits.drainMs, this.#parts.clock)
      this.#current?.end(this.limits.pingMs)
      await until(() => this.#current === undefined, this.limits.pingMs, this.#parts.clock)
    }
    this.#current?.cut('STOPPED', 'dialer stops')
    this.#heartbeat?.stop()
    if (this.#state !== 'closed') this.#enter('closed')
  }

  #isIdle(): boolean {
    return this.#current === undefined || (this.#parts.inFlight?.() ?? 0) === 0
  }

  #dial(): void {
    this.#enter('dialing')
    const { nodeId, role, peerNodeId } = this.#settings
    const { clock, random } = this.#parts
    const socket = connect({ host: this.#host, port: this.#port, noDelay: true })
    const nonce = random.bytes(NONCE_BYTES)
    const greeting = createGreeting({ side: 'dialer', key: this.#key, nodeId, role, nonce, peerNodeId })
    const link = new SocketLink(this.limits, { socket, greeting, clock, metrics: this.#metrics, events: this.#events })
    this.#current = link
    this.#swept.add(link)
    link.start()
  }

  readonly #events = {
    onReady: (link: SocketLink): void => {
      this.#attempt = 0
      this.#enter('ready')
      this.#parts.logger.info({ node: link.nodeId, address: this.address }, 'link is ready')
      this.#parts.onLink?.(link)
    },
    onFrame: (link: SocketLink, kind: Kind, correlation: number, body: Uint8Array): void =>
      this.#parts.onFrame(link, kind, correlation, body),
    onGoodbye: (link: SocketLink, reason: string): void => {
      this.#parts.logger.info({ node: link.nodeId, reason }, 'peer says goodbye')
      if (this.#state !== 'ready') return
      this.#enter('draining')
      link.drain(reason)
    },
    onClosed: (link: SocketLink, reason: CloseReason, detail: string): void => this.#onClosed(link, reason, detail),
  }

  #onClosed(link: SocketLink, reason: CloseReason, detail: string): void {
    const { logger, onClose, random } = this.#parts
    const wasReady = this.#state === 'ready' || this.#state === 'draining'
    this.#swept.delete(link)
    this.#current = undefined
    // A server that is away is said once, not at each try.
    const level = wasReady || this.#attempt === 0 ? 'warn' : 'debug'
    if (!this.#isStopping) logger[level]({ address: this.address, reason, detail }, 'link lost')
    this.#enter(this.#isStopping ? 'closed' : 'dialing')
    if (wasReady) onClose?.(link, reason)
    if (this.#isStopping) return
    const { backoffBaseMs = 50, backoffMaxMs = 1_000 } = this.#settings
    const waitMs = backoffMs({
      attempt: this.#attempt++,
      baseMs: backoffBaseMs,
      maxMs: backoffMaxMs,
      draw: random.next(),
    })
    this.#retry = setTimeout(() => this.#dial(), waitMs)
  }

  #enter(next: LinkState): void {
    if (!NEXT[this.#state].includes(next)) {
      throw new TransportError('BAD_STATE', `dialer cannot go from ${this.#state} to ${next}`, {
        address: this.address,
      })
    }
    this.#state = next
  }
}

/** Makes a dialer; start() begins. */
export function createDialer(settings: DialerSettings, parts: DialerParts): Dialer {
  return new Dialer(settings, parts)
}

/** Splits "host:port" ("[::1]:8300" too); throws a TransportError BAD_ADDRESS. */
export function parseAddress(address: string): { host: string; port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(address)
  const port = Number(match?.[3])
  const host = match?.[1] ?? match?.[2]
  if (host === undefined || !(port >= 1 && port <= 65_535)) {
    throw new TransportError('BAD_ADDRESS', `address "${address}" is not host:port`, { address })
  }
  return { host, port }
}
