/** Who has applied what, by the acks that the routers gather. */

import type { NodeAck, RefusedCommand } from '@bigtap/protocol'

/** What a node said last, by the newest word of any router. */
export interface AckView {
  readonly nodeId: string
  readonly role: string
  readonly epoch: number
  readonly upTo: number
  readonly ahead: readonly number[]
  readonly revision: number
  readonly digest: string
  readonly eventLoopMs: number
  readonly refused: readonly RefusedCommand[]
  /** The node's clock minus ours, ms, and how far that may be wrong: half of both round trips. */
  readonly clockOffsetMs: number
  readonly clockErrorMs: number
  /** When the clock was looked at, and when the node was heard; ours. */
  readonly lookedAt: number
  readonly at: number
}

/** A router's report: its clock minus ours and the round trip to it, ms, and our time. */
export interface ReportFrom {
  readonly router: string
  readonly clockOffsetMs: number
  readonly roundTripMs: number
  readonly now: number
}

/** Nodes that are known; one more is not taken. */
export const ACK_NODES_MAX = 4_096
/** A look at a clock over a quick round trip is better than a newer one over a slow one, for this long. */
const LOOK_KEPT_MS = 5_000

/** The acks of one epoch. A node is forgotten when no router has a link to it. */
export class NodeAcks {
  readonly #nodes = new Map<string, { view: AckView; routers: Set<string> }>()

  onReport(nodes: readonly NodeAck[], from: ReportFrom): void {
    for (const node of nodes) this.#take(node, from)
  }

  /** The link to a router is lost: what it sees is not known any more. */
  onRouterLost(router: string): void {
    for (const nodeId of this.#nodes.keys()) this.#leave(nodeId, router)
  }

  get(nodeId: string): AckView | undefined {
    return this.#nodes.get(nodeId)?.view
  }

  list(): AckView[] {
    return [...this.#nodes.values()].map(({ view }) => view)
  }

  /** Has a node taken the command with this sequence? */
  hasTaken(nodeId: string, epoch: number, sequence: number): boolean {
    const view = this.get(nodeId)
    return view !== undefined && view.epoch === epoch && (view.upTo >= sequence || view.ahead.includes(sequence))
  }

  #take(node: NodeAck, { router, clockOffsetMs, roundTripMs, now }: ReportFrom): void {
    if (node.isGone) {
      this.#leave(node.nodeId, router)
      return
    }
    const known = this.#nodes.get(node.nodeId)
    if (known === undefined && this.#nodes.size >= ACK_NODES_MAX) return
    const routers = known?.routers ?? new Set()
    routers.add(router)
    const { isGone: _isGone, roundTripMs: nodeTripMs, ...ack } = node
    const clockErrorMs = (nodeTripMs + roundTripMs) / 2
    const view = { ...ack, clockOffsetMs: node.clockOffsetMs + clockOffsetMs, clockErrorMs, lookedAt: now, at: now }
    this.#nodes.set(node.nodeId, { view: newest(known?.view, view), routers })
  }

  #leave(nodeId: string, router: string): void {
    const known = this.#nodes.get(nodeId)
    if (known?.routers.delete(router) && known.routers.size === 0) this.#nodes.delete(nodeId)
  }
}

/** Two routers tell of one node in any order: what was applied stays applied, and so does the better look at its clock. */
function newest(known: AckView | undefined, next: AckView): AckView {
  if (known === undefined || next.epoch > known.epoch) return next
  const isBehind = next.epoch < known.epoch || next.revision < known.revision || next.upTo < known.upTo
  const isWorseLook = next.clockErrorMs > known.clockErrorMs && next.at - known.lookedAt < LOOK_KEPT_MS
  const { clockOffsetMs, clockErrorMs, lookedAt } = isWorseLook ? known : next
  const clock = { clockOffsetMs, clockErrorMs, lookedAt }
  return { ...(isBehind ? known : next), eventLoopMs: next.eventLoopMs, at: next.at, ...clock }
}
