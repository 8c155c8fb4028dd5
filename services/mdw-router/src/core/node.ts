/** One linked front: how far it was sent, what it has acked. Pure. */

import { type Ack, AHEAD_MAX, type NodeAck, REFUSED_MAX } from '@bigtap/protocol'

/** Frames that were sent and not acked; then even what is urgent waits. */
export const FRAMES_MAX = 256
/** 4 KiB that were sent and not acked, so mostly one frame: then all but what is urgent waits, and may be superseded meanwhile. */
export const WINDOW_BYTES = 4_096

const NOTHING: Ack = { epoch: 0, upTo: 0, revision: 0, digest: '', eventLoopMs: 0, refused: [], ahead: [] }

/** The state of one link. */
export class Node {
  readonly nodeId: string
  readonly role: string
  /** Position of the last frame: epoch -1 before the first. */
  epoch = -1
  upTo = 0
  head = 0
  /** The last place of the lane `ahead` that was sent. */
  ahead = 0
  readonly #inFlight = new Map<number, number>()
  #inFlightBytes = 0
  #correlation = 0
  #ack: Ack = NOTHING
  #isNew = true

  constructor(nodeId: string, role: string) {
    this.nodeId = nodeId
    this.role = role
  }

  /** Does the window take one more frame? */
  get hasRoom(): boolean {
    return this.#inFlightBytes < WINDOW_BYTES && this.canSend
  }

  get canSend(): boolean {
    return this.#inFlight.size < FRAMES_MAX
  }

  get inFlight(): number {
    return this.#inFlight.size
  }

  /** The correlation of the next frame. */
  get nextCorrelation(): number {
    return this.#correlation >= 0xffff_ffff ? 1 : this.#correlation + 1
  }

  /** A frame has left. */
  sent(bytes: number): void {
    this.#correlation = this.nextCorrelation
    this.#inFlight.set(this.#correlation, bytes)
    this.#inFlightBytes += bytes
  }

  /** Takes an ack: false when no frame waits for it. Correlation 0 comes from the front itself. */
  acked(correlation: number, ack: Ack): boolean {
    const bytes = this.#inFlight.get(correlation)
    if (correlation !== 0 && bytes === undefined) return false
    this.#inFlight.delete(correlation)
    this.#inFlightBytes -= bytes ?? 0
    const last = this.#ack.epoch === ack.epoch ? this.#ack : NOTHING
    const ahead = new Set([...last.ahead, ...ack.ahead].filter((sequence) => sequence > ack.upTo))
    const refused = [...this.#ack.refused, ...ack.refused].slice(-REFUSED_MAX)
    this.#ack = { ...ack, ahead: [...ahead].slice(-AHEAD_MAX), refused }
    this.#isNew = true
    return true
  }

  /** Was something acked since the last report? */
  get hasNews(): boolean {
    return this.#isNew
  }

  /** What is reported of it; refusals are told once. */
  report(clock: { clockOffsetMs: number; roundTripMs: number }, isGone = false): NodeAck {
    const { nodeId, role } = this
    const row = { ...this.#ack, nodeId, role, isGone, ...clock }
    this.#ack = { ...this.#ack, refused: [] }
    this.#isNew = false
    return row
  }
}
