/** mdw-router over sockets: links of fronts and masters around the pure fan-out. */

import type { Clock, Logger, Metrics, Random } from '@bigtap/kernel'
import {
  decodeAbuseVerdicts,
  decodeAck,
  decodeCommandBatch,
  encodeAckReports,
  encodeError,
  encodePing,
  KIND,
  type Kind,
  type NodeAck,
} from '@bigtap/protocol'
import { Batcher, createServer, type Link, type Server, type ServerAddress } from '@bigtap/transport'
import { BYTES_MAX, ENTRIES_MAX } from './core/backlog.ts'
import { FanOut } from './core/fan-out.ts'
import { FRAMES_MAX, Node, WINDOW_BYTES } from './core/node.ts'
import { declareMetrics, type Refusal, type RouterMetrics } from './router-metrics.ts'

/** Where it listens, and for how many. */
export interface RouterSettings {
  readonly host: string
  readonly port: number
  readonly nodeId: string
  readonly clusterSecret: string
  readonly linksMax: number
}

/** Collaborators. */
export interface RouterParts {
  readonly logger: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  readonly random: Random
  /** Makes the server; another one in a simulation. */
  readonly listen?: typeof createServer
}

/** The role under which masters link; every other one is a front. */
const MASTER = 'master'
/** Who may say verdicts about abuse, and who is told of them. */
const JUDGES = ['antiblack', MASTER]
const LIMITER = 'limiter'
/** Acks that come within it make one report. */
const GATHER_MS = 5
/** All nodes are reported and their clocks compared this often; what a full link did not take is tried again. */
const EVERY_MS = 1_000
/** A link with more than this unsent gets no more frames: what waits here may still be superseded, what lies in a socket may not. */
const UNSENT_BYTES = 262_144

/**
 * ```
 *   masters ──Command──► FanOut ── end of turn: pump every node that is behind ──► fronts
 *      ▲                                                                             │
 *      └── AckReport ◄── gathered for 5 ms, all nodes each second ◄────── Ack ───────┘
 *   antiblack, masters ──AbuseVerdicts── at once, kept nowhere ──► limiters
 * ```
 */
export class Router {
  readonly #parts: RouterParts
  readonly #fanOut = new FanOut()
  readonly #masters = new Set<Link>()
  readonly #links = new Map<Link, Node>()
  /** The newest link of each node. */
  readonly #byId = new Map<string, Node>()
  readonly #server: Server
  readonly #counts: RouterMetrics
  readonly #turn: Batcher
  #gone: NodeAck[] = []
  #gathering: NodeJS.Timeout | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(settings: RouterSettings, parts: RouterParts) {
    this.#parts = parts
    this.#counts = declareMetrics(parts.metrics, this.#fanOut, () => this.#masters.size)
    this.#turn = new Batcher({ itemsMax: Infinity, bytesMax: Infinity }, { flush: () => this.#pumpAll() })
    this.#server = (parts.listen ?? createServer)(
      { ...settings, role: 'mdw-router' },
      {
        ...parts,
        onLink: (link) => this.#onLink(link),
        onFrame: (link, kind, correlation, body) => this.#onFrame(link, kind, correlation, body),
        onClose: (link) => this.#onClose(link),
      },
    )
  }

  /** Newest catalog revision that a master told. */
  get head(): number {
    return this.#fanOut.backlog.head
  }

  /** For /debug/config. */
  get limits(): Readonly<Record<string, number>> {
    return {
      ...this.#server.limits,
      ...{ entriesMax: ENTRIES_MAX, bytesMax: BYTES_MAX, framesMax: FRAMES_MAX, windowBytes: WINDOW_BYTES },
      ...{ linkUnsentBytes: UNSENT_BYTES, gatherMs: GATHER_MS },
    }
  }

  /** For /debug/nodes: who is linked, and how far. */
  view(): Record<string, unknown>[] {
    return [...this.#links].map(([link, node]) => ({
      ...{ nodeId: node.nodeId, role: node.role, remote: link.remote, epoch: node.epoch, upTo: node.upTo },
      ...{ inFlight: node.inFlight, unsentBytes: link.unsentBytes, isBehind: this.#fanOut.isBehind(node) },
      ...clockOf(link),
    }))
  }

  /** What dcacenter is told. */
  figures(): Record<string, number> {
    const { backlog, behind, nodes } = this.#fanOut
    const { commands, frames, acks, verdicts } = this.#counts
    const waits = { queueDepth: backlog.size, behind, dropped: backlog.dropped, revision: backlog.head }
    return { fronts: nodes.size, masters: this.#masters.size, ...waits, commands, frames, acks, verdicts }
  }

  async start(): Promise<ServerAddress> {
    const address = await this.#server.start()
    this.#timer = setInterval(() => this.#onSecond(), EVERY_MS)
    return address
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    clearTimeout(this.#gathering)
    await this.#server.stop()
  }

  #onLink(link: Link): void {
    if (link.role === MASTER) {
      this.#masters.add(link)
      this.#reportAll()
      return
    }
    const node = new Node(link.nodeId, link.role)
    this.#links.set(link, node)
    this.#byId.set(node.nodeId, node)
    this.#fanOut.join(node)
    ping(link, this.#parts.clock)
    this.#turn.added()
  }

  #onClose(link: Link): void {
    const node = this.#links.get(link)
    this.#masters.delete(link)
    this.#links.delete(link)
    if (node === undefined) return
    this.#fanOut.leave(node)
    if (this.#byId.get(node.nodeId) !== node) return // it has linked anew meanwhile
    this.#byId.delete(node.nodeId)
    this.#gone.push(node.report(clockOf(link), true))
    this.#gather()
  }

  #onFrame(link: Link, kind: Kind, correlation: number, body: Uint8Array): void {
    if (kind === KIND.ack) this.#onAck(link, correlation, body)
    else if (kind === KIND.command) this.#onCommands(link, correlation, body)
    else if (kind === KIND.abuseVerdicts) this.#onAbuseVerdicts(link, correlation, body)
    else if (kind !== KIND.error) this.#refuse(link, correlation, 'unknown_kind', `kind ${kind} is not for a router`)
  }

  #onCommands(link: Link, correlation: number, body: Uint8Array): void {
    if (!this.#masters.has(link)) {
      this.#refuse(link, correlation, 'not_master', `role ${link.role} sends no commands`)
      return
    }
    const batch = decodeCommandBatch(body)
    if (this.#fanOut.take(batch) === 'stale') {
      const { epoch } = this.#fanOut.backlog
      this.#refuse(link, correlation, 'stale_epoch', `epoch ${batch.epoch} is below ${epoch}`)
      return
    }
    this.#counts.commands += batch.commands.length
    this.#turn.added()
  }

  /** Handed on to all limiters before anything else; one whose link is full reads them from the board. */
  #onAbuseVerdicts(link: Link, correlation: number, body: Uint8Array): void {
    if (!JUDGES.includes(link.role)) {
      this.#refuse(link, correlation, 'not_judge', `role ${link.role} says no verdicts`)
      return
    }
    this.#counts.verdicts += decodeAbuseVerdicts(body).verdicts.length
    for (const to of this.#links.keys()) {
      if (to.role !== LIMITER || to.state !== 'ready') continue
      const isSent = to.unsentBytes <= UNSENT_BYTES && to.send(KIND.abuseVerdicts, 0, body)
      if (isSent) this.#counts.verdictFrames++
      else this.#counts.unsentVerdictFrames++
    }
  }

  #onAck(link: Link, correlation: number, body: Uint8Array): void {
    const ack = decodeAck(body)
    const node = this.#links.get(link)
    this.#counts.acks++
    if (node?.acked(correlation, ack) !== true) {
      this.#counts.lateAcks++
      return
    }
    this.#counts.refusedDocuments += ack.refused.length
    for (const { key, revision, error } of ack.refused) {
      this.#parts.logger.error({ node: node.nodeId, key, revision, error }, 'a front refused a command')
    }
    this.#gather()
    if (this.#fanOut.isBehind(node)) this.#turn.added()
  }

  #refuse(link: Link, correlation: number, reason: Refusal, message: string): void {
    this.#counts.refused[reason].inc()
    this.#parts.logger.warn({ node: link.nodeId, role: link.role, reason }, message)
    link.send(KIND.error, correlation, encodeError({ code: reason.toUpperCase(), message }))
  }

  /** Frames of one node and turn leave in one write: the link is corked until the turn's end. */
  #pumpAll(): void {
    for (const [link, node] of this.#links) {
      if (this.#fanOut.isLost(node)) {
        this.#counts.cut.inc()
        link.close('reads too slowly for what is urgent')
      } else if (this.#fanOut.isBehind(node)) {
        this.#fanOut.pump(node, (correlation, body) => this.#send(link, correlation, body))
      }
    }
    this.#fanOut.prune()
  }

  #send(link: Link, correlation: number, body: Uint8Array): boolean {
    if (link.state !== 'ready' || link.unsentBytes > UNSENT_BYTES) return false
    const isSent = link.send(KIND.command, correlation, body)
    if (isSent) this.#counts.frames++
    return isSent
  }

  #gather(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined
      this.#reportNews()
    }, GATHER_MS)
  }

  /** Without a master the news waits for one: it is told all when it links. */
  #reportNews(): void {
    this.#report([...this.#links].filter(([, node]) => node.hasNews))
  }

  #reportAll(): void {
    this.#report([...this.#links])
  }

  #report(links: readonly (readonly [Link, Node])[]): void {
    const gone = this.#gone
    this.#gone = []
    if (this.#masters.size === 0) return
    const current = links.filter(([, node]) => this.#byId.get(node.nodeId) === node)
    const rows = [...gone, ...current.map(([link, node]) => node.report(clockOf(link)))]
    for (const body of encodeAckReports(rows)) {
      // What a master does not take now it is told with the report of the next second.
      for (const master of this.#masters) master.send(KIND.ackReport, 0, body)
    }
  }

  #onSecond(): void {
    for (const link of this.#links.keys()) ping(link, this.#parts.clock)
    this.#reportAll()
    this.#pumpAll()
  }
}

/** The link answers by itself, and its clock is compared. */
function ping(link: Link, clock: Clock): void {
  link.send(KIND.ping, 0, encodePing(Math.floor(clock.now())))
}

function clockOf({ clockOffsetMs, roundTripMs }: Link): { clockOffsetMs: number; roundTripMs: number } {
  return { clockOffsetMs, roundTripMs }
}
