/** The sale of the scale mode, and the ledger under it: the same model of the scripts that a real Redis is compared with. */

import {
  type ActivityDoc,
  DEFAULT_POLICY,
  DEFAULT_WAITING,
  type Figures,
  NO_CHALLENGE,
  NO_RESERVATION,
  type SkuDoc,
} from '@bigtap/domain'
import { GrantLog, Guards, Ledger, type Reservation } from '@bigtap/store'
import { createMemoryStore } from '../redis/memory-store.ts'
import { RedisModel } from '../redis/redis-model.ts'
import { EPOCH_MS } from '../world/world.ts'

/** How large it is. */
export interface ScaleSettings {
  readonly seed: number
  readonly buyers: number
  readonly limiters: number
  readonly middles: number
  readonly skus: number
  readonly stock: number
  /** Says how far it is. */
  readonly isLoud: boolean
}

/** What is asked for: 100 limiters, 100 Middles, 400 SKUs, 10 million buyers for 100,000 units. */
export const SCALE: ScaleSettings = {
  seed: 1,
  buyers: 10_000_000,
  limiters: 100,
  middles: 100,
  skus: 400,
  stock: 250,
  isLoud: false,
}

/** The activity of the sale. */
export const ACTIVITY_ID = 1
const SWEEP_MAX = 2_000

/** The documents of the sale. */
export function scaleDocuments({ skus, stock }: ScaleSettings): { activity: ActivityDoc; skus: SkuDoc[] } {
  const skuIds = Array.from({ length: skus }, (_, index) => index + 1)
  const activity: ActivityDoc = {
    ...{
      id: ACTIVITY_ID,
      title: 'scale',
      state: 'open',
      stage: 'middle',
      rule: 'once-per-product',
      admission: 'direct',
      waiting: DEFAULT_WAITING,
      challenge: NO_CHALLENGE,
    },
    ...{ opensAt: EPOCH_MS, closesAt: EPOCH_MS + 3_600_000, reservation: NO_RESERVATION, skuIds, accessLimits: [] },
  }
  const policy = { ...DEFAULT_POLICY, holdSeconds: 2, tokenSeconds: 5 }
  const rest = {
    activityId: ACTIVITY_ID,
    priceCents: 100,
    currency: 'EUR',
    imageUrl: '',
    limitPerBuyer: 1,
    paused: false,
  }
  return { activity, skus: skuIds.map((id) => ({ id, title: `product ${id}`, stock, policy, ...rest })) }
}

/** The ledger, with the calls that nodes, cart and counter make. */
export class ScaleLedger {
  now = 0
  /** What the nodes are given. */
  readonly log: GrantLog
  readonly #ledger: Ledger

  constructor() {
    const store = createMemoryStore(new RedisModel('scale', () => EPOCH_MS + this.now))
    this.#ledger = new Ledger(store)
    this.log = new GrantLog(store, new Guards(store))
  }

  async open(skus: readonly SkuDoc[]): Promise<void> {
    const rows = skus.map(({ id, stock, limitPerBuyer, priceCents, policy: { overbook, holdSeconds } }) => ({
      ...{ skuId: id, stock, limitPerBuyer, priceCents, overbook, holdSeconds },
    }))
    await this.#ledger.open(ACTIVITY_ID, 'once-per-product', rows)
  }

  /** True for each that became an order. */
  async reserve(batch: readonly Reservation[]): Promise<boolean[]> {
    return (await this.#ledger.reserve(ACTIVITY_ID, batch)).map(({ outcome }) => outcome === 1)
  }

  async pay(orderIds: readonly string[]): Promise<void> {
    await this.#ledger.confirm(ACTIVITY_ID, orderIds)
  }

  async sweep(): Promise<void> {
    await this.#ledger.sweep(ACTIVITY_ID, SWEEP_MAX)
  }

  figures(): Promise<Map<number, Figures>> {
    return this.#ledger.figures(ACTIVITY_ID)
  }
}
