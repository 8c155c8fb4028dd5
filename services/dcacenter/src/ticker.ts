/** Once a second: forgets what is gone, notes the history, tells those who listen. */

import type { Clock } from '@bigtap/kernel'
import type { History } from './core/history.ts'
import type { Keyspace, SkuRow, Snapshot } from './core/keyspace.ts'
import type { Memory } from './core/memory.ts'

/** Who carries messages to those who listen. */
export interface Publisher {
  hasListener(channel: string): boolean
  publish(channel: string, text: string): void
}

/** What the ticker works with. */
export interface TickerParts {
  readonly memory: Memory
  readonly history: History
  readonly keyspace: Keyspace
  readonly publisher: Publisher
  readonly clock: Clock
  /** dcacenter's own figures, before each tick. */
  onTick(): void
}

/**
 * A round of pulls makes a tick, unless there was one just before, ms. Half a second: a round that ended late must not move
 * the ticks away from the ends of the rounds, where the figures are newest.
 */
const TICK_MS_MIN = 500
/** Without a round there is a tick all the same, ms. */
const TICK_MS_MAX = 1_050
/** Points of the history are at least this far apart, ms. */
const POINT_MS_MIN = 900
/** How often to look whether one is due, ms. */
export const LOOK_EVERY_MS = 100

/** The ticks of one dcacenter. */
export class Ticker {
  readonly #parts: TickerParts
  #last = Number.NEGATIVE_INFINITY
  #lastPoint = Number.NEGATIVE_INFINITY
  #told = new Map<string, string>()

  constructor(parts: TickerParts) {
    this.#parts = parts
  }

  /** Everybody was asked: the figures are as new as they can be. */
  onRound(): void {
    if (this.#sinceLast() >= TICK_MS_MIN) this.tick()
  }

  /** Call it each 100 ms. */
  look(): void {
    if (this.#sinceLast() >= TICK_MS_MAX) this.tick()
  }

  /** One tick, now. */
  tick(): void {
    const { memory, history, keyspace, publisher, clock, onTick } = this.#parts
    const now = clock.monotonic()
    this.#last = now
    onTick()
    memory.expire(now)
    const snapshot = keyspace.snapshot(clock.now())
    if (now - this.#lastPoint >= POINT_MS_MIN) {
      this.#lastPoint = now
      record(history, snapshot)
    }
    if (publisher.hasListener('tick')) publisher.publish('tick', JSON.stringify(snapshot))
    this.#tellChanges(snapshot.skus)
  }

  /** A SKU's channel speaks when something but its age has changed. */
  #tellChanges(skus: readonly SkuRow[]): void {
    const { publisher } = this.#parts
    const told = new Map<string, string>()
    for (const sku of skus) {
      const channel = `sku:${sku.activityId}:${sku.skuId}`
      if (!publisher.hasListener(channel)) continue
      const { ageMs: _age, ledgerAgeMs: _ledgerAge, ...figures } = sku.figures
      const essence = JSON.stringify({ state: sku.state, figures })
      told.set(channel, essence)
      if (this.#told.get(channel) !== essence) publisher.publish(channel, JSON.stringify(sku))
    }
    this.#told = told
  }

  #sinceLast(): number {
    return this.#parts.clock.monotonic() - this.#last
  }
}

function record(history: History, { at, totals, skus, nodes, activities }: Snapshot): void {
  history.begin(at)
  history.record('totals', totals)
  for (const { activityId, figures } of activities) history.record(`activity:${activityId}`, figures)
  for (const { activityId, skuId, figures } of skus) history.record(`sku:${activityId}:${skuId}`, figures)
  for (const { id, figures } of nodes) history.record(`node:${id}`, figures)
}
