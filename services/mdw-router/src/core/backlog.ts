/** What the router knows of the leader's commands: two lanes, the newest per key, and what it has not got. Pure. */

import { CALL_PREFIX, type Command, type CommandBatch, encodeCommand } from '@bigtap/protocol'
import { type Entry, Lane } from './lane.ts'

/** 400 SKUs of 100 activities with their statuses, and as much again. */
export const ENTRIES_MAX = 100_000
/** 64 MiB of commands that some node has not got yet. */
export const BYTES_MAX = 67_108_864
/** Commands that came ahead of their turn and are not covered yet. */
const AHEAD_MAX = 4_096

/** What became of a batch. */
export type Taken = 'taken' | 'stale'

/**
 * - `normal`: a place is a sequence.
 * - `ahead`: urgent ones and trials, in the order in which they came. They go past everything in `normal`.
 *
 * A command supersedes the one of its key that still waits; a call supersedes none. Where a superseded one was urgent, the
 * newer one is: it carries the news that was urgent. At a limit the oldest falls, and a node that has not got it sees a gap (or, where that was urgent, its link is cut).
 */
export class Backlog {
  normal = new Lane()
  ahead = new Lane()
  /** 0 until a leader has spoken. */
  epoch = 0
  /** How far the leader has got. */
  upTo = 0
  /** Of what lies at or before it, not everything is known here. */
  floor = 0
  head = 0
  superseded = 0
  dropped = 0
  /** The newest place of `ahead` that fell: who was not sent it cannot be helped over this link. */
  fallen = 0
  gaps = 0
  /** Grows with every change: what was made of the lanes is good for one version. */
  version = 0
  readonly #newest = new Map<string, { lane: Lane; place: number; isUrgent: boolean }>()
  readonly #early = new Set<number>()

  get size(): number {
    return this.normal.size + this.ahead.size
  }

  get bytes(): number {
    return this.normal.bytes + this.ahead.bytes
  }

  /** Takes a batch of a master. Of a lower epoch nothing is taken. */
  take(batch: CommandBatch): Taken {
    if (batch.epoch < this.epoch || batch.epoch === 0) return 'stale'
    this.version++
    if (batch.epoch > this.epoch) this.#begin(batch)
    this.head = Math.max(this.head, batch.head)
    if (batch.since > this.upTo) this.#miss(batch.since)
    const isAhead = batch.since === batch.upTo
    for (const command of batch.commands) {
      if (command.sequence <= this.upTo || this.#early.has(command.sequence)) continue
      if (isAhead) this.#noteEarly(command.sequence)
      this.#add(command, isAhead)
    }
    this.#cover(batch.upTo)
    return 'taken'
  }

  /** Forgets what every node was sent. */
  prune(normal: number, ahead: number): void {
    for (const entry of this.normal.prune(normal)) this.#forget(entry, this.normal)
    for (const entry of this.ahead.prune(ahead)) this.#forget(entry, this.ahead)
  }

  /** A new leader: what the old one still had to say is in the catalog, and every front will look there. */
  #begin({ epoch, since }: CommandBatch): void {
    this.epoch = epoch
    this.upTo = since
    this.floor = since
    this.normal = new Lane()
    this.ahead = new Lane()
    this.fallen = 0
    this.#newest.clear()
    this.#early.clear()
  }

  #miss(since: number): void {
    this.gaps++
    this.floor = since
    this.upTo = since
    for (const entry of this.normal.prune(since)) this.#forget(entry, this.normal)
  }

  #cover(upTo: number): void {
    this.upTo = Math.max(this.upTo, upTo)
    for (const sequence of this.#early) if (sequence <= this.upTo) this.#early.delete(sequence)
  }

  #noteEarly(sequence: number): void {
    const [oldest] = this.#early
    if (oldest !== undefined && this.#early.size >= AHEAD_MAX) this.#early.delete(oldest)
    this.#early.add(sequence)
  }

  #add(command: Command, cameAhead: boolean): void {
    const slot = slotOf(command)
    const old = this.#newest.get(slot)
    const isSuperseding = old?.lane.remove(old.place) ?? false
    if (isSuperseding) this.superseded++
    const isUrgent = command.isUrgent || (isSuperseding && old?.isUrgent === true)
    const { sequence, revision, nodes } = command
    const entry = { sequence, revision, slot, isUrgent, nodes, bytes: encodeCommand({ ...command, isUrgent }) }
    const isAhead = cameAhead || isUrgent || command.isTrial
    const lane = isAhead ? this.ahead : this.normal
    const place = isAhead ? lane.push(entry) : lane.push(entry, sequence)
    this.#newest.set(slot, { lane, place, isUrgent })
    while (this.size > ENTRIES_MAX || this.bytes > BYTES_MAX) this.#drop()
  }

  #drop(): void {
    const lane = this.normal.size > 0 ? this.normal : this.ahead
    const oldest = lane.first()
    if (oldest === undefined) return
    this.dropped++
    if (lane === this.ahead) this.fallen = oldest.place
    else this.floor = Math.max(this.floor, oldest.entry.sequence)
    this.#newest.delete(oldest.entry.slot)
    lane.prune(oldest.place)
  }

  #forget({ slot }: Entry, lane: Lane): void {
    const newest = this.#newest.get(slot)
    if (newest?.lane === lane && !lane.has(newest.place)) this.#newest.delete(slot)
  }
}

function slotOf({ key, isTrial, nodes, sequence }: Command): string {
  if (key.startsWith(CALL_PREFIX)) return `${key}#${sequence}`
  // Other nodes: both must arrive.
  return isTrial || nodes.length > 0 ? `${isTrial ? 'trial' : 'for'} ${nodes.join(' ')} ${key}` : key
}
