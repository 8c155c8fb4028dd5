/** Who is there and what they have applied: heartbeats from Redis, and acks from the routers where there are some. */

import type { Clock } from '@bigtap/kernel'
import type { CatalogHead, CatalogStore, HeardNode, Nodes } from '@bigtap/store'
import type { Alarms } from './core/alarms.ts'
import { NodeHealth } from './core/node-health.ts'
import type { RouterLinks } from './router-links.ts'

/** A node as master sees it. `ageMs` is how long it was silent. */
export interface SeenNode extends HeardNode {
  readonly isLive: boolean
  /** A router has a link to it. */
  readonly isLinked: boolean
  /** Last command of this leader that it has taken; undefined without a link, as the next two. */
  readonly ackedSequence: number | undefined
  readonly clockOffsetMs: number | undefined
  readonly clockErrorMs: number | undefined
  readonly eventLoopMs: number | undefined
  readonly refusals: readonly { readonly key: string; readonly error: string }[]
}

/** Collaborators. */
export interface WatchParts {
  readonly nodes: Pick<Nodes, 'list'>
  readonly catalog: Pick<CatalogStore, 'head'>
  readonly links: RouterLinks
  readonly alarms: Alarms
  readonly clock: Clock
}

/** A node without a link that was silent this long is not waited for: six of its beats. */
export const NODE_SILENT_MS = 2_000

/** The nodes; read() is one round. */
export class NodeWatch {
  readonly #parts: WatchParts
  readonly #health = new NodeHealth()
  #heard: readonly HeardNode[] = []
  #heardAt = Number.NEGATIVE_INFINITY
  #head: CatalogHead = { revision: 0, digest: '', epoch: 0 }

  constructor(parts: WatchParts) {
    this.#parts = parts
  }

  /** Were the heartbeats read since the start? */
  get hasRead(): boolean {
    return this.#heardAt > Number.NEGATIVE_INFINITY
  }

  get head(): CatalogHead {
    return this.#head
  }

  /** Reads the heartbeats and looks what is wrong; rejects when Redis is away. */
  async read(): Promise<void> {
    const { nodes, catalog, alarms, clock } = this.#parts
    const [heard, head] = [await nodes.list(), await catalog.head()]
    this.#heard = heard
    this.#heardAt = clock.monotonic()
    this.#head = head
    for (const { isFiring, alarm } of this.#health.look(this.#heardAt, { head, nodes: this.list() }))
      alarms.set(isFiring, alarm, clock.now())
  }

  /** The heartbeats as they were read. */
  heard(): readonly HeardNode[] {
    return this.#heard
  }

  list(): SeenNode[] {
    const sinceMs = this.#parts.clock.monotonic() - this.#heardAt
    return this.#heard.map((node) => {
      const ack = this.#parts.links.acks.get(node.id)
      const ageMs = node.ageMs + sinceMs
      const isNewer = ack !== undefined && ack.revision >= node.revision
      return {
        ...node,
        ...(isNewer ? { revision: ack.revision, digest: ack.digest } : {}),
        ...{ ageMs, isLive: ack !== undefined || ageMs < NODE_SILENT_MS, isLinked: ack !== undefined },
        ...{ ackedSequence: ack?.upTo, clockOffsetMs: ack?.clockOffsetMs },
        ...{ clockErrorMs: ack?.clockErrorMs, eventLoopMs: ack?.eventLoopMs },
        refusals: ack?.refused ?? [],
      }
    })
  }
}
