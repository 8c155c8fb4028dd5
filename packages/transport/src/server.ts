import { createServer as createTcpServer, type Socket } from 'node:net'
import type { Clock, Logger, Metrics, Random } from '@bigtap/kernel'
import { type Kind, NONCE_BYTES } from '@bigtap/protocol'
import { createGreeting } from './greeting.ts'
import { type Heartbeat, startHeartbeat } from './heartbeat.ts'
import { linkKey } from './hello-proof.ts'
import { type Link, SocketLink } from './link.ts'
import { type CloseReason, linkMetricsOf } from './link-metrics.ts'
import { DEFAULT_LIMITS, type Identity, type LinkLimits } from './link-settings.ts'

/** Where to listen, and for how many. */
export interface ServerSettings extends Identity, Partial<LinkLimits> {
  host: string
  /** 0 takes a free port. */
  port: number
  /** Connections at a time; one more is closed at once. */
  linksMax?: number
}

/** What a server works with, and whom it tells. */
export interface ServerParts {
  logger: Logger
  metrics: Metrics
  clock: Clock
  random: Random
  /** `body` is valid only until the handler returns. A CodedError thrown here closes that link as a bad frame. */
  onFrame(link: Link, kind: Kind, correlation: number, body: Uint8Array): void
  /** A peer has proved who it is. */
  onLink?(link: Link): void
  /** A link that was ready has ended. */
  onClose?(link: Link, reason: CloseReason): void
  /** Asks under way; stop() waits for 0 before it closes the links. */
  inFlight?(): number
}

/** Where a server listens. */
export interface ServerAddress {
  host: string
  port: number
}

/** A listening server. */
export interface Server {
  start(): Promise<ServerAddress>
  /** Accepts no more, says Goodbye, waits for what is under way, flushes and closes; takes drainMs at most, or little more. */
  stop(): Promise<void>
  /** Links whose peer has proved who it is. */
  links(): IterableIterator<Link>
  /** For /debug/config: the limits that hold. */
  readonly limits: Readonly<Record<string, number>>
}

const LINKS_MAX = 1_024

/** Accepts links on a TCP port. */
export function createServer(settings: ServerSettings, parts: ServerParts): Server {
  const limits: LinkLimits = { ...DEFAULT_LIMITS, ...settings }
  const linksMax = settings.linksMax ?? LINKS_MAX
  const { logger, clock, random } = parts
  const metrics = linkMetricsOf(parts.metrics)
  const key = linkKey(settings.clusterSecret)
  const all = new Set<SocketLink>()
  const ready = new Set<SocketLink>()
  let heartbeat: Heartbeat | undefined

  const events = {
    onReady: (link: SocketLink) => {
      ready.add(link)
      logger.info({ node: link.nodeId, role: link.role, remote: link.remote }, 'link is ready')
      parts.onLink?.(link)
    },
    onFrame: parts.onFrame,
    onGoodbye: (link: SocketLink, reason: string) => logger.debug({ node: link.nodeId, reason }, 'peer says goodbye'),
    onClosed: (link: SocketLink, reason: CloseReason, detail: string) => {
      all.delete(link)
      const level = reason === 'PEER_CLOSED' || reason === 'STOPPED' ? 'info' : 'warn'
      logger[level]({ node: link.nodeId, remote: link.remote, reason, detail }, 'link closed')
      if (ready.delete(link)) parts.onClose?.(link, reason)
    },
  }

  const accept = (socket: Socket): void => {
    if (all.size >= linksMax) {
      metrics.closed('LINKS_EXCEEDED')
      socket.on('error', () => undefined) // the link is refused whatever becomes of its socket
      socket.destroy()
      return
    }
    const { nodeId, role } = settings
    const greeting = createGreeting({ side: 'acceptor', key, nodeId, role, nonce: random.bytes(NONCE_BYTES) })
    const link = new SocketLink(limits, { socket, greeting, clock, metrics, events })
    all.add(link)
    link.start()
  }
  const tcp = createTcpServer({ allowHalfOpen: true, noDelay: true }, accept)

  const drained = (): boolean => {
    for (const link of ready) if (!link.peerLeaves) return false
    return (parts.inFlight?.() ?? 0) === 0
  }

  return {
    limits: Object.freeze({ ...limitsOf(limits), linksMax }),
    links: () => ready.values(),
    start: async () => {
      const address = await listen(tcp, settings.host, settings.port)
      tcp.on('error', (error) => logger.error({ reason: error.message }, 'listening socket failed'))
      heartbeat = startHeartbeat(limits.pingMs, all, clock)
      return address
    },
    stop: async () => {
      const closed = new Promise<void>((resolve) => tcp.close(() => resolve()))
      for (const link of all) if (link.state === 'dialing') link.cut('STOPPED', 'server stops')
      for (const link of ready) link.drain('server stops')
      await until(drained, limits.drainMs, clock)
      for (const link of all) link.end(limits.pingMs)
      await until(() => all.size === 0, limits.pingMs, clock)
      for (const link of all) link.cut('STOPPED', 'server stops')
      heartbeat?.stop()
      await closed
    },
  }
}

/** The numbers of `limits`, without the other settings. */
export function limitsOf(limits: LinkLimits): LinkLimits {
  const { unsentBytesMax, bodyBytesMax, pingMs, deadMs, stallMs, helloMs, drainMs } = limits
  return { unsentBytesMax, bodyBytesMax, pingMs, deadMs, stallMs, helloMs, drainMs }
}

/** Waits until `isDone`, looking each 5 ms, for `withinMs` at most. */
export async function until(isDone: () => boolean, withinMs: number, clock: Clock): Promise<void> {
  const deadline = clock.monotonic() + withinMs
  while (!isDone() && clock.monotonic() < deadline) await new Promise((resolve) => setTimeout(resolve, 5))
}

function listen(tcp: ReturnType<typeof createTcpServer>, host: string, port: number): Promise<ServerAddress> {
  return new Promise((resolve, reject) => {
    tcp.once('error', reject)
    tcp.listen({ host, port }, () => {
      tcp.off('error', reject)
      const address = tcp.address()
      resolve({ host, port: typeof address === 'object' && address !== null ? address.port : port })
    })
  })
}
