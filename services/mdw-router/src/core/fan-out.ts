/** Which frames each front is sent next. Pure: bytes go out through a function that says whether they were taken. */

import { type BatchPosition, type CommandBatch, joinCommands } from '@bigtap/protocol'
import { Backlog, type Taken } from './backlog.ts'
import type { Placed } from './lane.ts'
import type { Node } from './node.ts'

/** Sends the body of a Command frame; false: the link takes no more now. */
export type Send = (correlation: number, body: Uint8Array) => boolean

interface Frame {
  readonly position: BatchPosition
  readonly placed: readonly Placed[]
}

/**
 * ```
 *   master ─► take ─► Backlog: normal │ ahead          per node: first all of `ahead`, then `normal` by frames
 *                                                       that fit its window; what waits meanwhile may be superseded
 *   turn ends ─► pump(node) for all ─► frames          same cursor, same frame: built once, sent to all
 * ```
 * A frame covers (since, upTo]: `since` is where the node's last frame ended, or further where the router itself does not
 * know everything: then the front sees a gap. What goes ahead covers nothing, unless nothing else waits.
 */
export class FanOut {
  readonly backlog = new Backlog()
  readonly #nodes = new Set<Node>()
  readonly #built = new Map<string, Uint8Array>()
  #builtVersion = 0

  get nodes(): ReadonlySet<Node> {
    return this.#nodes
  }

  /** How many have not been sent everything. */
  get behind(): number {
    let count = 0
    for (const node of this.#nodes) if (this.isBehind(node)) count++
    return count
  }

  /** Takes a batch of a master; call `pump` for all nodes afterwards. */
  take(batch: CommandBatch): Taken {
    return this.backlog.take(batch)
  }

  /** A front is linked: it has what the catalog has, and is told where that should be. */
  join(node: Node): void {
    this.#nodes.add(node)
  }

  /** Its link has ended. */
  leave(node: Node): void {
    this.#nodes.delete(node)
    this.prune()
  }

  isBehind(node: Node): boolean {
    const { epoch, upTo, head, ahead } = this.backlog
    return node.epoch !== epoch || node.upTo < upTo || node.head < head || node.ahead < ahead.last
  }

  /** Something urgent had to be dropped before it took it: its link is to be cut, so that it reads the catalog. */
  isLost(node: Node): boolean {
    return node.epoch === this.backlog.epoch && node.ahead < this.backlog.fallen
  }

  /** Sends a node what it has not got, as far as its link and its window go. */
  pump(node: Node, send: Send): void {
    if (node.epoch !== this.backlog.epoch) this.#greet(node, send)
    if (node.epoch === this.backlog.epoch && this.#pumpAhead(node, send)) this.#pumpNormal(node, send)
  }

  /** Forgets what all nodes were sent. */
  prune(): void {
    const { backlog } = this
    let normal = backlog.upTo
    let ahead = backlog.ahead.last
    for (const node of this.#nodes) {
      const isOther = node.epoch !== backlog.epoch
      normal = Math.min(normal, isOther ? backlog.floor : node.upTo)
      ahead = Math.min(ahead, isOther ? 0 : node.ahead)
    }
    backlog.prune(normal, ahead)
  }

  /** The first frame of a link or of an epoch is empty. A new link begins at the end, a new epoch at its beginning. */
  #greet(node: Node, send: Send): void {
    const { epoch, upTo, floor, head, ahead } = this.backlog
    const at = node.epoch === -1 ? upTo : Math.min(floor, upTo)
    const place = node.epoch === -1 ? ahead.last : 0
    const position = { epoch, since: at, upTo: at, head: at === upTo ? head : 0 }
    if (this.#send(node, { position, placed: [] }, send)) node.ahead = place
  }

  /** All that is urgent, in one frame or several. False: the link takes no more. */
  #pumpAhead(node: Node, send: Send): boolean {
    const { ahead, upTo, epoch, head } = this.backlog
    while (node.ahead < ahead.last) {
      const { placed, isAll } = ahead.after(node.ahead, node.nodeId)
      const since = this.#sinceOf(node)
      const covers = isAll && this.#isRest(node, placed, since)
      const position = covers ? { since, upTo } : { since: node.upTo, upTo: node.upTo }
      const frame = { position: { epoch, ...position, head }, placed: bySequence(placed) }
      if (placed.length > 0 && !this.#send(node, frame, send)) return false
      node.ahead = isAll ? ahead.last : (placed.at(-1)?.place ?? ahead.last)
    }
    return true
  }

  /** Does nothing else wait, so that what goes ahead may cover all? */
  #isRest(node: Node, placed: readonly Placed[], since: number): boolean {
    const { normal, upTo } = this.backlog
    if (node.upTo >= upTo || normal.after(node.upTo, node.nodeId).placed.length > 0) return false
    return placed.every(({ entry }) => entry.sequence > since && entry.sequence <= upTo)
  }

  #pumpNormal(node: Node, send: Send): void {
    const { normal, upTo, epoch, head } = this.backlog
    while (node.upTo < upTo && node.hasRoom) {
      const { placed, isAll } = normal.after(node.upTo, node.nodeId)
      const last = placed.at(-1)?.entry
      // Until the last frame, the head is no newer than what came: a front must not look for what is on its way.
      const end = isAll || last === undefined ? { upTo, head } : { upTo: last.sequence, head: newestOf(placed) }
      if (!this.#send(node, { position: { epoch, since: this.#sinceOf(node), ...end }, placed }, send)) return
    }
    if (node.upTo < upTo || node.head >= head) return
    this.#send(node, { position: { epoch, since: upTo, upTo, head }, placed: [] }, send)
  }

  /** Where the next frame begins: beyond the end of the last one where this router has missed something. */
  #sinceOf(node: Node): number {
    const { floor, upTo } = this.backlog
    return Math.min(Math.max(node.upTo, floor), upTo)
  }

  #send(node: Node, frame: Frame, send: Send): boolean {
    if (!node.canSend) return false
    const { position } = frame
    const body = this.#build(frame)
    if (!send(node.nextCorrelation, body)) return false
    node.sent(body.length)
    node.epoch = position.epoch
    node.upTo = position.upTo
    node.head = Math.max(position.head, node.head)
    return true
  }

  /** Frames of the same entries at the same position are one. */
  #build({ position, placed }: Frame): Uint8Array {
    if (this.#builtVersion !== this.backlog.version) this.#built.clear()
    this.#builtVersion = this.backlog.version
    const isForAll = placed.every(({ entry }) => entry.nodes.length === 0)
    const { epoch, since, upTo, head } = position
    const key = `${epoch} ${since} ${upTo} ${head} ${placed[0]?.entry.sequence} ${placed.at(-1)?.entry.sequence}`
    const known = isForAll ? this.#built.get(`${key} ${placed.length}`) : undefined
    if (known !== undefined) return known
    const body = joinCommands(
      position,
      placed.map(({ entry }) => entry.bytes),
    )
    if (isForAll && this.#built.size < BUILT_MAX) this.#built.set(`${key} ${placed.length}`, body)
    return body
  }
}

/** Frames that are kept for the other nodes of the turn. */
const BUILT_MAX = 64

function newestOf(placed: readonly Placed[]): number {
  return placed.reduce((newest, { entry }) => Math.max(newest, entry.revision), 0)
}

function bySequence(placed: readonly Placed[]): Placed[] {
  return placed.toSorted((a, b) => a.entry.sequence - b.entry.sequence)
}
