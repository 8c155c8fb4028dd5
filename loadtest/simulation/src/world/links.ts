/** Links between services over the simulated network, in the shape of packages/transport. */

import type { Kind } from '@bigtap/protocol'
import type {
  CloseReason,
  createServer,
  Dialer,
  DialerParts,
  DialerSettings,
  Link,
  LinkState,
  ServerParts,
} from '@bigtap/transport'
import type { Network } from './network.ts'
import type { SimProcess } from './process.ts'
import type { World } from './world.ts'

/** A link whose peer is silent this long is dead (docs/PROTOCOL.md). */
const DEAD_MS = 1_500
const REDIAL_MS = { base: 50, max: 1_000 }

interface Listener {
  readonly process: SimProcess
  readonly parts: Pick<ServerParts, 'onFrame' | 'onLink' | 'onClose'>
}

/** All listeners and links. */
export class LinkHub {
  readonly #world: World
  readonly #network: Network
  readonly #listeners = new Map<string, Listener>()
  readonly #wires = new Set<Wire>()

  constructor(world: World, network: Network) {
    this.#world = world
    this.#network = network
    network.onCut((a, b) => this.#watch((wire) => wire.joins(a, b)))
  }

  /** A process takes links at an address, until it dies. */
  listen(address: string, process: SimProcess, parts: Listener['parts']): void {
    const listener = { process, parts }
    this.#listeners.set(address, listener)
    process.onDeath.push(() => {
      if (this.#listeners.get(address) === listener) this.#listeners.delete(address)
    })
    this.#follow(process)
  }

  /** What stands in the place of createServer, for a process that listens at an address. */
  serverOf(address: string, process: SimProcess): typeof createServer {
    return (_settings, parts) => ({
      limits: {},
      links: () => [][Symbol.iterator](),
      start: async () => {
        this.listen(address, process, parts)
        return { host: process.host, port: 0 }
      },
      stop: async () => undefined,
    })
  }

  /** What stands in the place of createDialer, for a process. */
  dialerOf(process: SimProcess): (settings: DialerSettings, parts: DialerParts) => Dialer {
    this.#follow(process)
    return (settings, parts) =>
      new SimDialer(settings, parts, { hub: this, process, world: this.#world }) as unknown as Dialer
  }

  /** Tries to connect; tells the dialer after a while. */
  connect(dialer: SimDialer, { settings, parts, process }: DialSide): void {
    const world = this.#world
    world.deliver(process, this.#network.delayMs() * 3, () => {
      const listener = this.#listeners.get(settings.address)
      const isReachable =
        listener?.process.state === 'running' && !this.#network.isCut(process.host, listener.process.host)
      const isExpected = settings.peerNodeId === undefined || settings.peerNodeId === listener?.process.id
      if (listener === undefined || !isReachable || !isExpected) return dialer.onFailed()
      const wire = new Wire({ world, network: this.#network, forget: (one) => this.#wires.delete(one) })
      const near = new SimLink(wire, process, listener.process, {
        onFrame: (link, kind, correlation, body) => parts.onFrame(link, kind, correlation, body),
        onClosed: (link, reason) => dialer.onClosed(link, reason),
      })
      const far = new SimLink(wire, listener.process, process, {
        onFrame: (link, kind, correlation, body) => listener.parts.onFrame(link, kind, correlation, body),
        onClosed: (link, reason) => listener.parts.onClose?.(link, reason),
      })
      wire.join(near, far)
      this.#wires.add(wire)
      dialer.onReady(near)
      world.runIn(listener.process, () => listener.parts.onLink?.(far))
    })
  }

  #follow(process: SimProcess): void {
    process.onDeath.push(() => {
      for (const wire of [...this.#wires]) if (wire.has(process)) wire.reset(process)
    })
    process.onHang.push(() => this.#watch((wire) => wire.has(process)))
  }

  /** Whoever is cut off or hangs for too long is given up by the other side. */
  #watch(isMeant: (wire: Wire) => boolean): void {
    const meant = [...this.#wires].filter(isMeant)
    this.#world.after(DEAD_MS, () => {
      for (const wire of meant) if (wire.isSilent()) wire.giveUp()
    })
  }
}

interface WireParts {
  readonly world: World
  readonly network: Network
  forget(wire: Wire): void
}

/** One connection: two ends and what is on its way between them. */
class Wire {
  readonly #parts: WireParts
  #ends: readonly SimLink[] = []

  constructor(parts: WireParts) {
    this.#parts = parts
  }

  join(near: SimLink, far: SimLink): void {
    this.#ends = [near, far]
  }

  has(process: SimProcess): boolean {
    return this.#ends.some((end) => end.owner === process)
  }

  joins(a: string, b: string): boolean {
    const hosts = this.#ends.map(({ owner }) => owner.host)
    return hosts.includes(a) && hosts.includes(b)
  }

  isSilent(): boolean {
    const [near, far] = this.#ends
    if (near === undefined || far === undefined || near.state === 'closed') return false
    return this.#isCut() || near.owner.state === 'hung' || far.owner.state === 'hung'
  }

  /** The owner of one end has died: its system closes the socket. */
  reset(dead: SimProcess): void {
    const { world, network } = this.#parts
    const other = this.#ends.find((end) => end.owner !== dead)
    if (other === undefined) return
    const waitMs = this.#isCut() ? DEAD_MS : network.delayMs()
    world.deliver(other.owner, waitMs, () => other.end('PEER_CLOSED'))
    this.#parts.forget(this)
  }

  /** Both ends notice by themselves that nothing comes any more. */
  giveUp(): void {
    for (const end of this.#ends) this.#parts.world.runIn(end.owner, () => end.end('DEAD'))
    this.#parts.forget(this)
  }

  close(from: SimLink): void {
    from.end('STOPPED')
    const other = this.#ends.find((end) => end !== from)
    if (other !== undefined)
      this.#parts.world.deliver(other.owner, this.#parts.network.delayMs(), () => other.end('PEER_CLOSED'))
    this.#parts.forget(this)
  }

  carry(from: SimLink, kind: Kind, correlation: number, body: Uint8Array): void {
    const { world, network } = this.#parts
    const to = this.#ends.find((end) => end !== from)
    if (to === undefined || this.#isCut() || (network.rates.lost > 0 && world.chance(network.rates.lost))) return
    const copies = network.rates.twice > 0 && world.chance(network.rates.twice) ? 2 : 1
    const bytes = Uint8Array.from(body)
    for (let copy = 0; copy < copies; copy++) {
      const isLoose = copy > 0 || (network.rates.reordered > 0 && world.chance(network.rates.reordered))
      const delay = network.delayMs() * (isLoose ? 4 : 1)
      const at = isLoose ? world.now + delay : Math.max(from.sentUntil, world.now + delay)
      if (!isLoose) from.sentUntil = at
      world.deliver(to.owner, at - world.now, () => {
        if (to.state === 'ready' && !this.#isCut()) to.onFrame(kind, correlation, bytes)
      })
    }
  }

  #isCut(): boolean {
    const [near, far] = this.#ends
    return near !== undefined && far !== undefined && this.#parts.network.isCut(near.owner.host, far.owner.host)
  }
}

interface LinkOwner {
  onFrame(link: Link, kind: Kind, correlation: number, body: Uint8Array): void
  onClosed(link: SimLink, reason: CloseReason): void
}

/** One end of a connection. */
export class SimLink implements Link {
  readonly owner: SimProcess
  readonly nodeId: string
  readonly role: string
  readonly remote: string
  readonly unsentBytes = 0
  readonly roundTripMs = 1
  sentUntil = 0
  #state: LinkState = 'ready'
  readonly #wire: Wire
  readonly #peer: SimProcess
  readonly #events: LinkOwner

  constructor(wire: Wire, owner: SimProcess, peer: SimProcess, events: LinkOwner) {
    this.#wire = wire
    this.owner = owner
    this.#peer = peer
    this.#events = events
    this.nodeId = peer.id
    this.role = peer.role
    this.remote = peer.host
  }

  get state(): LinkState {
    return this.#state
  }

  get clockOffsetMs(): number {
    return this.#peer.clock.now() - this.owner.clock.now()
  }

  send(kind: Kind, correlation: number, body: Uint8Array): boolean {
    if (this.#state !== 'ready') return false
    this.#wire.carry(this, kind, correlation, body)
    return true
  }

  close(): void {
    this.#wire.close(this)
  }

  onFrame(kind: Kind, correlation: number, body: Uint8Array): void {
    this.#events.onFrame(this, kind, correlation, body)
  }

  end(reason: CloseReason): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#events.onClosed(this, reason)
  }
}

interface DialSide {
  readonly settings: DialerSettings
  readonly parts: DialerParts
  readonly process: SimProcess
}

/** Keeps one link: what the transport's Dialer shows to its users. */
export class SimDialer {
  readonly address: string
  readonly limits = {}
  readonly #side: DialSide
  readonly #hub: LinkHub
  readonly #world: World
  #state: LinkState = 'idle'
  #link: SimLink | undefined
  #attempt = 0

  constructor(
    settings: DialerSettings,
    parts: DialerParts,
    { hub, process, world }: { hub: LinkHub; process: SimProcess; world: World },
  ) {
    this.address = settings.address
    this.#side = { settings, parts, process }
    this.#hub = hub
    this.#world = world
  }

  get state(): LinkState {
    return this.#state
  }

  get link(): Link | undefined {
    return this.#state === 'ready' ? this.#link : undefined
  }

  get peer(): { nodeId: string; role: string } | undefined {
    return this.link
  }

  start(): void {
    if (this.#state !== 'idle') return
    this.#dial()
  }

  async ready(): Promise<boolean> {
    return this.#state === 'ready'
  }

  send(kind: Kind, correlation: number, body: Uint8Array): boolean {
    return this.#state === 'ready' && this.#link !== undefined && this.#link.send(kind, correlation, body)
  }

  async stop(): Promise<void> {
    this.#state = 'closed'
    this.#link?.close()
  }

  onReady(link: SimLink): void {
    if (this.#state !== 'dialing') {
      link.close()
      return
    }
    this.#attempt = 0
    this.#link = link
    this.#state = 'ready'
    this.#side.parts.onLink?.(link)
  }

  onFailed(): void {
    if (this.#state !== 'dialing') return
    const waitMs = Math.min(REDIAL_MS.max, REDIAL_MS.base * 2 ** this.#attempt++)
    this.#world.deliver(this.#side.process, waitMs, () => this.#dial())
  }

  onClosed(link: SimLink, reason: CloseReason): void {
    if (this.#link !== link) return
    this.#link = undefined
    const isStopped = this.#state === 'closed'
    if (!isStopped) this.#state = 'dialing'
    this.#side.parts.onClose?.(link, reason)
    if (!isStopped) this.onFailed()
  }

  #dial(): void {
    if (this.#state === 'closed') return
    this.#state = 'dialing'
    this.#hub.connect(this, this.#side)
  }
}
