/**
 * The pace of a cluster on virtual time: the plan of Middle (`planLease`) over the product's GrantLog and the model of Redis,
 * so what is measured is the pace's own arithmetic, not the machine. Buyers are a rate of asks at each node.
 */

import { DEFAULT_POLICY, type Figures, NO_FIGURES, type Policy, type SkuState, stateByFigures } from '@bigtap/domain'
import { isWorthAsking, type LeaseAnswer, planLease, smoothDemand, TICK_MS } from '@bigtap/middle/core/lease-plan'
import { NO_PRESSING, type Pacing, paceUnder } from '@bigtap/middle/core/pacing'
import { type Claimant, GrantLog, Guards, Ledger } from '@bigtap/store'
import { SeededRandom } from '@bigtap/testkit'
import { createMemoryStore } from '../redis/memory-store.ts'
import { RedisModel } from '../redis/redis-model.ts'
import { NO_OMISSIONS } from '../redis/script-call.ts'

/** What is tried. Times in ms. */
export interface PaceTrial {
  readonly stock: number
  readonly nodes: number
  readonly seed: number
  /** A tick comes up to this much late. */
  readonly lateMs?: number
  /** A call of Redis takes this long, there and back. */
  readonly roundTripMs?: number
}

interface Node {
  readonly who: Claimant
  available: number
  demand: number
  wanting: number
  taken: number
  clusterDemand: number
  figures: Figures
  askedAt: number
  tickAt: number
  isLeasing: boolean
  isDead: boolean
}

const STARTS_AT = 1_800_000_000_000
const HEARTBEAT_MS = 500
const SWEEP_MS = 100
const SKU = 1
const ACTIVITY = 1

/** A cluster that grants; the test sets demand, pace and pressure, and lets time pass. */
export class PaceCluster {
  now = STARTS_AT
  policy: Policy = DEFAULT_POLICY
  pacing: Pacing = NO_PRESSING
  /** Asks per second at each node. */
  readonly asksPerSecond: number[]
  /** While set, nothing moves: a machine that stands still. */
  isStalled = false
  readonly grants: number[] = []
  readonly nodes: Node[] = []
  readonly #trial: Required<PaceTrial>
  readonly #random: SeededRandom
  readonly #ledger: Ledger
  readonly #log: GrantLog
  readonly #later = new Map<number, (() => Promise<void>)[]>()
  #tokens = 0

  constructor(trial: PaceTrial) {
    this.#trial = { lateMs: 0, roundTripMs: 4, ...trial }
    this.#random = new SeededRandom(trial.seed)
    this.asksPerSecond = new Array<number>(trial.nodes).fill(0)
    const model = new RedisModel('run', () => this.now)
    model.omit = { ...NO_OMISSIONS, slotOwner: true }
    const store = createMemoryStore(model)
    this.#ledger = new Ledger(store)
    this.#log = new GrantLog(store, new Guards(store))
  }

  async start(): Promise<void> {
    const { stock, nodes } = this.#trial
    const sku = { skuId: SKU, stock, overbook: 1, limitPerBuyer: 1, priceCents: 1, holdSeconds: 600 }
    await this.#ledger.open(ACTIVITY, 'unlimited', [sku])
    for (let index = 0; index < nodes; index++) {
      const nodeId = `m${index}`
      const fence = await this.#log.claim(ACTIVITY, nodeId)
      const counts = { available: 0, demand: 0, wanting: 0, taken: 0, clusterDemand: 0, askedAt: 0 }
      const tickAt = this.now + Math.floor(this.#random.next() * TICK_MS)
      const who = { activityId: ACTIVITY, nodeId, fence }
      this.nodes.push({ who, ...counts, figures: NO_FIGURES, tickAt, isLeasing: false, isDead: false })
    }
  }

  /** Grants of each second from now on. */
  async seconds(count: number): Promise<number[]> {
    const seconds: number[] = []
    for (let second = 0; second < count; second++) {
      const before = this.grants.length
      await this.pass(1_000)
      seconds.push(this.grants.length - before)
    }
    return seconds
  }

  /** Lets time pass, ms by ms. */
  async pass(ms: number): Promise<void> {
    for (const until = this.now + ms; this.now < until; this.now++) {
      if (this.isStalled) continue
      for (const [at, work] of [...this.#later].filter(([due]) => due <= this.now)) {
        this.#later.delete(at)
        for (const one of work) await one()
      }
      for (const [index, node] of this.nodes.entries()) if (!node.isDead) await this.#turn(node, index)
      if (this.now % SWEEP_MS === 0) await this.#ledger.sweep(ACTIVITY, 100)
    }
  }

  /** It stops between two instructions: nothing is given back. */
  kill(index: number): void {
    const node = this.nodes[index]
    if (node !== undefined) node.isDead = true
  }

  async figures(): Promise<Figures> {
    return (await this.#ledger.figures(ACTIVITY)).get(SKU) ?? NO_FIGURES
  }

  /** The most grants in any second, wherever it begins. */
  worstSecond(): number {
    let [worst, first] = [0, 0]
    for (const [last, at] of this.grants.entries()) {
      while ((this.grants[first] as number) <= at - 1_000) first++
      worst = Math.max(worst, last - first + 1)
    }
    return worst
  }

  async #turn(node: Node, index: number): Promise<void> {
    const asks = this.#drawn((this.asksPerSecond[index] as number) / 1_000)
    node.wanting += asks
    const granted = Math.min(asks, node.available)
    if (granted > 0) await this.#grant(node, granted)
    const isTick = this.now >= node.tickAt
    if (isTick) {
      node.tickAt = this.now + TICK_MS + Math.floor(this.#random.next() * this.#trial.lateMs)
      node.demand = smoothDemand(node.demand, node.wanting)
      node.wanting = 0
    }
    const sinceMs = this.now - node.askedAt
    const pace = paceUnder(this.#stateOf(node), this.policy, this.pacing)
    const isHungry = granted < asks && isWorthAsking(node.figures, pace, sinceMs)
    if (isHungry) node.demand = Math.max(node.demand, node.wanting)
    if ((isTick || isHungry) && !node.isLeasing) await this.#lease(node, sinceMs)
  }

  /** The write is seen by Redis half a round trip later; what the lease call that follows it sees as well. */
  async #grant(node: Node, count: number): Promise<void> {
    node.available -= count
    node.taken += count
    for (let one = 0; one < count; one++) this.grants.push(this.now)
    const expiresAt = this.now + 600_000
    const grants = Array.from({ length: count }, () => {
      const tokenId = (++this.#tokens).toString(16).padStart(32, '0')
      return { tokenId, uid: this.#tokens, slot: 1, skuId: SKU, quantity: 1, expiresAt }
    })
    this.#in(this.#trial.roundTripMs / 2, async () => void (await this.#log.grant(node.who, grants)))
  }

  async #lease(node: Node, sinceMs: number): Promise<void> {
    const wish = this.#wishOf(node, sinceMs)
    const isHeartbeat = sinceMs >= HEARTBEAT_MS || node.figures === NO_FIGURES
    if (wish.want + wish.more + wish.giveBack === 0 && !isHeartbeat) return
    const [demandMs, takenAtCall] = [node.demand * Math.min(HEARTBEAT_MS, sinceMs), node.taken]
    node.askedAt = this.now
    node.isLeasing = true
    node.available -= wish.giveBack
    this.#in(this.#trial.roundTripMs / 2, async () => {
      const reply = (await this.#log.lease(node.who, [{ skuId: SKU, ...wish, demandMs }])).get(SKU)
      if (reply === undefined) throw new Error('the sku has no ledger')
      this.#in(this.#trial.roundTripMs / 2, async () => {
        node.isLeasing = false
        node.available = Math.max(0, reply.held - (node.taken - takenAtCall))
        node.figures = reply.figures
        node.clusterDemand = reply.demand
      })
    })
  }

  #wishOf(node: Node, sinceMs: number): LeaseAnswer {
    const { available, demand, clusterDemand, figures } = node
    if (figures === NO_FIGURES) return { want: 0, more: 0, giveBack: 0, pacePerSecond: null }
    return planLease({
      ...{ available, demand, clusterDemand, figures, policy: this.policy, pacing: this.pacing },
      ...{ state: this.#stateOf(node), nodes: this.nodes.length, sinceMs: Math.min(HEARTBEAT_MS, sinceMs) },
    })
  }

  #stateOf({ figures }: Node): SkuState {
    return figures === NO_FIGURES ? 'releasing' : stateByFigures(figures, this.policy)
  }

  #in(ms: number, work: () => Promise<void>): void {
    const at = this.now + Math.max(1, ms)
    this.#later.set(at, [...(this.#later.get(at) ?? []), work])
  }

  #drawn(mean: number): number {
    return Math.floor(mean) + (this.#random.next() < mean % 1 ? 1 : 0)
  }
}
