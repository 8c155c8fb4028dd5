/** Asks every limiter and Middle node for its figures, all in parallel; who does not answer delays nobody. */

import { type Clock, CodedError, type Counter, type Logger, type Metrics, type Random } from '@bigtap/kernel'
import { decodeStats, KIND, type Kind } from '@bigtap/protocol'
import type { HeardNode, Nodes } from '@bigtap/store'
import { createDialer, type Dialer } from '@bigtap/transport'
import { type Memory, STALE_MS } from './core/memory.ts'
import { nextPace, type PullPace, type PullTarget, paceOf, targetsOf } from './core/pull-plan.ts'

/** Who we are on the links, and how often nodes are asked. */
export interface PullerSettings {
  readonly nodeId: string
  readonly clusterSecret: string
  /** Narrowest interval, ms. */
  readonly pullMs: number
}

/** What the puller works with. */
export interface PullerParts {
  readonly memory: Memory
  readonly nodes: Pick<Nodes, 'list'>
  readonly logger: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  readonly random: Random
  /** All nodes have answered, or had their time. */
  onRound(): void
}

type Failure = 'late' | 'away' | 'bad'

const NOTHING = new Uint8Array(0)
/** There is nothing under way on these links that is worth a wait. */
const DRAIN_MS = 50
const ROUNDS_UNTIL_STALE = 3
/** A node that owes an answer is asked again after so long, ms: one that wakes up has not a heap of questions to answer. */
const ASK_AGAIN_MS = 5_000

interface Linked extends PullTarget {
  readonly dialer: Dialer
  /** When the question was asked that is not answered yet, if any. */
  askedAt: number | undefined
}

/**
 * One link per node, one round of questions after the other.
 *
 *   ask all ─► answers are taken as they come ─► all there, or 400 ms over ─► onRound ─► rest of the interval ─► ask all
 *
 * An answer that comes after its round is taken all the same: it is new, and where we ourselves are slow it is no node's fault.
 */
export class Puller {
  readonly #settings: PullerSettings
  readonly #parts: PullerParts
  readonly #byId = new Map<string, Linked>()
  readonly #failures: Readonly<Record<Failure, Counter>>
  #pace: PullPace
  #startedAt = 0
  #lastAnswerAt = 0
  #correlation = 0
  #waiting = 0
  #onAllThere: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(settings: PullerSettings, parts: PullerParts) {
    this.#settings = settings
    this.#parts = parts
    this.#pace = paceOf(settings.pullMs)
    const { metrics } = parts
    const failure = (reason: Failure) =>
      metrics.counter('bigtap_dcacenter_pull_failures_total', 'Pulls without an answer in time, by reason', { reason })
    this.#failures = { late: failure('late'), away: failure('away'), bad: failure('bad') }
    metrics.gauge('bigtap_dcacenter_pulled_nodes_count', 'Nodes that are asked', () => this.#byId.size)
    metrics.gauge('bigtap_dcacenter_pull_interval_seconds', 'Interval of pulls', () => this.#pace.everyMs / 1_000)
  }

  get pace(): PullPace {
    return this.#pace
  }

  /** Nodes that are asked. */
  get size(): number {
    return this.#byId.size
  }

  start(): void {
    this.#timer = setTimeout(() => void this.#round(), 0)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    this.#onAllThere?.()
    await Promise.all([...this.#byId.values()].map(({ dialer }) => dialer.stop()))
    this.#byId.clear()
  }

  /** Dials nodes that came and leaves those that went; throws when the list of nodes cannot be read. Call it once a second. */
  async follow(): Promise<void> {
    const { nodes, memory } = this.#parts
    const listed: readonly HeardNode[] = await nodes.list()
    if (this.#isStopped) return
    for (const { id, address } of listed) memory.noteAddress(id, address)
    const targets = targetsOf(listed, memory.limits.nodesMax)
    const wanted = new Map(targets.map((target) => [target.id, target.address]))
    for (const [id, { address, dialer }] of this.#byId) {
      if (wanted.get(id) === address) continue
      this.#byId.delete(id)
      void dialer.stop()
    }
    for (const target of targets) if (!this.#byId.has(target.id)) this.#dial(target)
  }

  async #round(): Promise<void> {
    const { clock, memory, onRound } = this.#parts
    const lastTookMs = Math.max(0, this.#lastAnswerAt - this.#startedAt)
    this.#pace = nextPace(this.#settings.pullMs, this.#pace, { nodes: this.#byId.size, tookMs: lastTookMs })
    memory.staleMs = Math.max(STALE_MS, ROUNDS_UNTIL_STALE * this.#pace.everyMs)
    this.#startedAt = clock.monotonic()
    this.#correlation = (this.#correlation + 1) >>> 0
    this.#waiting = 0
    for (const node of this.#byId.values()) this.#ask(node)
    await this.#answers()
    if (this.#isStopped) return
    this.#failures.late.inc(this.#waiting)
    onRound()
    const restMs = this.#pace.everyMs - (clock.monotonic() - this.#startedAt)
    this.#timer = setTimeout(() => void this.#round(), Math.max(0, restMs))
  }

  #ask(node: Linked): void {
    const now = this.#parts.clock.monotonic()
    if (node.askedAt !== undefined && now - node.askedAt < ASK_AGAIN_MS) this.#failures.late.inc()
    else if (node.dialer.send(KIND.statsPull, this.#correlation, NOTHING)) {
      node.askedAt = now
      this.#waiting++
    } else this.#failures.away.inc()
  }

  /** Resolves when all who were asked have answered, or at the deadline. */
  #answers(): Promise<void> {
    if (this.#waiting === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#pace.deadlineMs)
      this.#onAllThere = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** A body that cannot be read throws, and closes that link. */
  #onAnswer(node: Linked, kind: Kind, correlation: number, body: Uint8Array): void {
    if (kind !== KIND.stats && kind !== KIND.error) return
    node.askedAt = undefined
    const { clock, memory } = this.#parts
    this.#lastAnswerAt = clock.monotonic()
    if (kind === KIND.stats) {
      const stats = decodeStats(body)
      if (stats.nodeId !== node.id) throw wrongNode(stats.nodeId, node.id)
      memory.apply(stats, { by: 'pull', now: this.#lastAnswerAt, wall: clock.now() })
    } else this.#failures.bad.inc()
    if (correlation === this.#correlation && --this.#waiting === 0) this.#onAllThere?.()
  }

  #dial(target: PullTarget): void {
    const { nodeId, clusterSecret } = this.#settings
    const { logger, metrics, clock, random } = this.#parts
    try {
      const dialer = createDialer(
        { ...target, nodeId, role: 'dcacenter', clusterSecret, peerNodeId: target.id, drainMs: DRAIN_MS },
        {
          ...{ logger, metrics, clock, random },
          onFrame: (_link, kind, correlation, body) => this.#onAnswer(node, kind, correlation, body),
          onClose: () => {
            node.askedAt = undefined
          },
        },
      )
      const node: Linked = { ...target, dialer, askedAt: undefined }
      dialer.start()
      this.#byId.set(target.id, node)
    } catch (error) {
      if (!(error instanceof CodedError)) throw error
      logger.debug({ node: target.id, error: error.message }, 'a node has no address to ask')
    }
  }
}

function wrongNode(answers: string, id: string): CodedError {
  return new CodedError({ code: 'WRONG_NODE', message: `${answers} answers for ${id}` })
}
