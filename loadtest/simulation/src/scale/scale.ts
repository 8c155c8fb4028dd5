/**
 * The scale mode: 100 limiters, 100 Middles, 400 SKUs, 10 million buyers, on virtual time in steps of 10 ms.
 *
 * Real: the deciders, the keepers with their leases and releases, the grant writer, the rules of the status, the ledger's
 * classes over the model of its scripts. Coarse: the network (a fixed time), the limiters (their gate and a place to ask),
 * cart and payment (a time each). docs/SIMULATION.md says what the figures can and cannot say.
 */

import { SLOT_COUNT, slotOf } from '@bigtap/kernel'
import { flagsOf } from '@bigtap/master/core/status-keeper'
import type { Reservation } from '@bigtap/store'
import { SeededRandom } from '@bigtap/testkit'
import { realSetImmediate } from '../world/virtual-timers.ts'
import { EPOCH_MS } from '../world/world.ts'
import { ScaleNode } from './scale-node.ts'
import { SCALE, ScaleLedger, type ScaleSettings, scaleDocuments } from './scale-sale.ts'
import { TimeWheel } from './time-wheel.ts'

const STEP_MS = 10
const TICK_STEPS = 5
const STATUS_STEPS = 10
const STEPS_MAX = 12_000
/** From a status in Redis to every limiter: the bound of the product's own test. */
const SPREAD_STEPS = 5
const TURNS_PER_STEP = 3
const BATCH_MAX = 128
/** Who does not pay gives the unit back after its hold. */
const PAYING = 0.99
/** The log says once a virtual second how far it is. */
const PROGRESS_STEPS = 100
const STATE = { asks: 0, carts: 1, pays: 2, gone: 3 } as const

/** What a run of the scale mode says. */
export interface ScaleReport extends ScaleSettings {
  readonly asks: number
  readonly refusedAtLimiters: number
  readonly granted: number
  readonly sold: number
  readonly oversold: number
  readonly soldOutAfterMs: { readonly first: number; readonly median: number; readonly last: number }
  readonly grantsPerNode: Spread
  readonly asksPerLimiter: Spread
  readonly virtualSeconds: number
  readonly wallSeconds: number
  readonly eventsPerSecond: number
  readonly rssMegabytes: number
}

/** How evenly something is spread. */
export interface Spread {
  readonly min: number
  readonly mean: number
  readonly max: number
}

/** Runs it. */
export async function runScale(change: Partial<ScaleSettings> = {}): Promise<ScaleReport> {
  const run = new ScaleRun({ ...SCALE, ...change })
  await run.prepare()
  await run.sell()
  return run.report()
}

class ScaleRun {
  readonly #settings: ScaleSettings
  readonly #random: SeededRandom
  readonly #ledger = new ScaleLedger()
  readonly #wheel: TimeWheel
  readonly #sku: Uint16Array
  readonly #state: Uint8Array
  readonly #soldOutAt: Int32Array
  readonly #isSoldOut: Uint8Array
  readonly #asksPerLimiter: Uint32Array
  readonly #nodes: ScaleNode[] = []
  readonly #tokens = new Map<number, { tokenId: string; expiresAt: number }>()
  readonly #startedAt = performance.now()
  #events = 0
  #step = 0
  #asks = 0
  #refused = 0
  #sold = 0
  #carts: Reservation[] = []
  #pays: string[] = []

  constructor(settings: ScaleSettings) {
    const { seed, buyers, skus, limiters } = settings
    this.#settings = settings
    this.#random = new SeededRandom(seed)
    this.#wheel = new TimeWheel(buyers, STEPS_MAX)
    this.#sku = new Uint16Array(buyers)
    this.#state = new Uint8Array(buyers)
    this.#soldOutAt = new Int32Array(skus + 1).fill(-1)
    this.#isSoldOut = new Uint8Array(skus + 1)
    this.#asksPerLimiter = new Uint32Array(limiters)
  }

  async prepare(): Promise<void> {
    const { middles } = this.#settings
    const sale = scaleDocuments(this.#settings)
    await this.#ledger.open(sale.skus)
    const now = () => EPOCH_MS + this.#ledger.now
    const parts = {
      ...{ log: this.#ledger.log, clock: { now, monotonic: now }, random: this.#random },
      onGrant: (uid: number, _skuId: number, tokenId: string, expiresAt: number) =>
        this.#onGrant(uid, tokenId, expiresAt),
      onNothing: (uid: number) => this.#again(uid - 1, 200),
    }
    for (let index = 0; index < middles; index++) this.#nodes.push(new ScaleNode(`m${index}`, sale, parts))
    const slots = Array.from({ length: SLOT_COUNT }, (_, slot) => slot)
    for (const [index, node] of this.#nodes.entries())
      node.own(
        slots.filter((slot) => slot % middles === index),
        middles,
      )
    for (let round = 0; round < 100 && !this.#nodes.every(({ isServing }) => isServing); round++) {
      for (const node of this.#nodes) node.tick()
      await settled()
      this.#ledger.now += STEP_MS
    }
    this.#drawBuyers()
  }

  /** Until all is sold, or nobody waits any more. */
  async sell(): Promise<void> {
    const first = Math.ceil(this.#ledger.now / STEP_MS)
    for (let step = 0; step < STEPS_MAX; step++) {
      this.#step = step
      this.#ledger.now = (first + step) * STEP_MS
      for (const node of this.#nodes) node.begin()
      this.#wheel.take(step, (buyer) => this.#visit(buyer))
      if (step % TICK_STEPS === 0) for (const node of this.#nodes) node.tick()
      await this.#settle()
      if (step % STATUS_STEPS === 0 && (await this.#look())) return
      if (step % PROGRESS_STEPS === 0) this.#say()
      if (this.#wheel.waiting === 0) return
    }
  }

  #say(): void {
    const seconds = Math.round((performance.now() - this.#startedAt) / 1000)
    const text = `${this.#step / PROGRESS_STEPS} s: ${this.#asks} asks, ${this.#sold} sold, after ${seconds} s`
    if (this.#settings.isLoud) process.stderr.write(`${text}\n`)
  }

  report(): ScaleReport {
    const { skus, stock } = this.#settings
    const ends = [...this.#soldOutAt.subarray(1)].filter((step) => step >= 0).sort((a, b) => a - b)
    const at = (index: number) => (ends[index] ?? -1) * STEP_MS
    const wallSeconds = (performance.now() - this.#startedAt) / 1000
    const granted = this.#nodes.reduce((sum, { grants }) => sum + grants, 0)
    return {
      ...this.#settings,
      ...{ asks: this.#asks, refusedAtLimiters: this.#refused, granted, sold: this.#sold },
      oversold: Math.max(0, this.#sold - skus * stock),
      soldOutAfterMs: { first: at(0), median: at(ends.length >> 1), last: at(ends.length - 1) },
      grantsPerNode: spreadOf(this.#nodes.map(({ grants }) => grants)),
      asksPerLimiter: spreadOf([...this.#asksPerLimiter]),
      virtualSeconds: (this.#step * STEP_MS) / 1000,
      wallSeconds: Math.round(wallSeconds * 10) / 10,
      eventsPerSecond: Math.round(this.#events / wallSeconds),
      rssMegabytes: Math.round(process.memoryUsage.rss() / 2 ** 20),
    }
  }

  /** Most come in the first second; some products are wanted more than others. */
  #drawBuyers(): void {
    const { buyers, skus } = this.#settings
    for (let buyer = 0; buyer < buyers; buyer++) {
      const wanted = this.#random.next()
      this.#sku[buyer] = 1 + Math.floor(wanted * Math.sqrt(wanted) * skus)
      const draw = this.#random.next()
      const ms =
        draw < 0.6
          ? this.#random.next() * 1_000
          : draw < 0.9
            ? 1_000 + this.#random.next() * 4_000
            : 5_000 + this.#random.next() * 15_000
      this.#wheel.add(buyer, Math.floor(ms / STEP_MS))
    }
  }

  #visit(buyer: number): void {
    this.#events++
    const state = this.#state[buyer] as number
    const token = state === STATE.asks ? undefined : this.#tokens.get(buyer)
    if (state === STATE.asks) this.#ask(buyer)
    else if (token === undefined) return
    else if (state === STATE.carts)
      this.#carts.push({ ...token, uid: buyer + 1, skuId: this.#sku[buyer] as number, quantity: 1 })
    else this.#pays.push(`o${token.tokenId}`)
  }

  #ask(buyer: number): void {
    const skuId = this.#sku[buyer] as number
    const limiter = Math.floor(this.#random.next() * this.#asksPerLimiter.length)
    this.#asksPerLimiter[limiter] = (this.#asksPerLimiter[limiter] as number) + 1
    this.#asks++
    if (this.#isSoldOut[skuId] === 1) {
      this.#refused++
      this.#state[buyer] = STATE.gone
      return
    }
    const node = this.#nodes[slotOf(buyer + 1) % this.#nodes.length] as ScaleNode
    const waitMs = node.ask(buyer + 1, skuId)
    if (waitMs > 0) this.#again(buyer, waitMs * (0.8 + 0.4 * this.#random.next()))
  }

  #again(buyer: number, ms: number): void {
    this.#wheel.add(buyer, this.#step + Math.max(1, Math.round(ms / STEP_MS)))
  }

  #onGrant(uid: number, tokenId: string, expiresAt: number): void {
    const buyer = uid - 1
    this.#events++
    this.#tokens.set(buyer, { tokenId, expiresAt })
    this.#state[buyer] = STATE.carts
    this.#again(buyer, 50 + this.#random.next() * 300)
  }

  async #settle(): Promise<void> {
    for (let turn = 0; turn < TURNS_PER_STEP; turn++) await settled()
    const carts = this.#carts
    this.#carts = []
    for (let at = 0; at < carts.length; at += BATCH_MAX) await this.#reserve(carts.slice(at, at + BATCH_MAX))
    const pays = this.#pays
    this.#pays = []
    for (let at = 0; at < pays.length; at += BATCH_MAX) await this.#ledger.pay(pays.slice(at, at + BATCH_MAX))
  }

  async #reserve(batch: readonly Reservation[]): Promise<void> {
    const isMade = await this.#ledger.reserve(batch)
    for (const [index, { uid }] of batch.entries()) {
      this.#events++
      const pays = isMade[index] === true && this.#random.next() < PAYING
      this.#state[uid - 1] = pays ? STATE.pays : STATE.gone
      if (pays) this.#again(uid - 1, 200 + this.#random.next() * 1_200)
    }
  }

  /** The status of every SKU, as master tells it to the limiters. True when all is sold. */
  async #look(): Promise<boolean> {
    const { stock } = this.#settings
    await this.#ledger.sweep()
    this.#sold = 0
    let isOver = true
    for (const [skuId, figures] of await this.#ledger.figures()) {
      this.#sold += figures.sold
      isOver &&= figures.sold === stock
      this.#isSoldOut[skuId] = flagsOf(figures).soldOut ? 1 : 0
      if (figures.free === 0 && this.#soldOutAt[skuId] === -1) this.#soldOutAt[skuId] = this.#step + SPREAD_STEPS
    }
    return isOver
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => realSetImmediate(resolve))
}

function spreadOf(counts: readonly number[]): Spread {
  const mean = counts.reduce((sum, count) => sum + count, 0) / Math.max(1, counts.length)
  return { min: Math.min(...counts), mean: Math.round(mean), max: Math.max(...counts) }
}
