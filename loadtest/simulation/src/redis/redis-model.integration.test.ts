/** The model against a real server: the same random calls of the product's own classes, every reply and the whole state. */

import { hasCode, nullLogger, slotOf } from '@bigtap/kernel'
import {
  connectStore,
  GrantLog,
  Guards,
  Ledger,
  type LedgerOrder,
  type LedgerSku,
  Lines,
  NameLease,
  rootKey,
  type Store,
} from '@bigtap/store'
import { type Engine, SeededRandom, startRedis } from '@bigtap/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMemoryStore } from './memory-store.ts'
import { modelledScripts, RedisModel } from './redis-model.ts'

const SEEDS = 6
const CALLS = 1_000
const LOOK_EVERY = 10
const TIME_KEY = 'test:time'

let redis: Engine
let store: Store

beforeAll(async () => {
  redis = await startRedis()
  store = connectStore({ url: redis.url, commandMsMax: 5_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
})

afterAll(async () => {
  await store.close()
  await redis.stop()
})

test('the model knows every script of the store, or says that it is left out', () => {
  const { modelled, existing } = modelledScripts()

  expect(modelled).toEqual(existing)
})

test.each(Array.from({ length: SEEDS }, (_, seed) => seed + 1))(
  `a real server and the model agree on ${CALLS} random calls (seed %i)`,
  async (seed) => {
    const both = new Both(seed)
    for (let call = 1; call <= CALLS; call++) {
      const what = await both.step()
      if (call % LOOK_EVERY !== 0 && call !== CALLS) continue
      const [real, model] = await Promise.all([realState(both.activityId), modelState(both.model, both.activityId)])
      expect(model, `after call ${call}: ${what}`).toEqual(real)
    }
    expect(both.seen.size).toBeGreaterThan(25)
  },
)

/** Calls on both sides, with one time for both. */
class Both {
  readonly activityId: number
  readonly model: RedisModel
  readonly seen = new Set<string>()
  readonly #random: SeededRandom
  readonly #real: Side
  readonly #modelled: Side
  readonly #orders = new Map<string, LedgerOrder>()
  readonly #fences = new Map<string, number>()
  #now: number
  #token = 0

  constructor(seed: number) {
    this.activityId = seed
    this.#random = new SeededRandom(seed)
    this.#now = 1_800_000_000_000 + seed
    this.model = new RedisModel(store.runId ?? '', () => this.#now)
    this.#real = new Side(withSettableTime(store))
    this.#modelled = new Side(createMemoryStore(this.model))
  }

  /** One random call on both; returns what it was. */
  async step(): Promise<string> {
    this.#now += this.#below(300)
    await store.redis.del(TIME_KEY)
    await store.redis.rpush(TIME_KEY, Math.floor(this.#now / 1000), (this.#now % 1000) * 1000)
    const { name, run } = this.#pick()
    const [real, modelled] = [
      await outcomeOf(() => run(this.#real, this.activityId)),
      await outcomeOf(() => run(this.#modelled, this.activityId)),
    ]
    expect(modelled, name).toEqual(real)
    this.#learn(real)
    this.seen.add(`${name.split(' ')[0]}:${JSON.stringify(real).slice(0, 24)}`)
    return name
  }

  #pick(): Call {
    const draw = this.#below(100)
    if (draw < 20) return this.#reserve()
    if (draw < 36) return this.#grant()
    if (draw < 50) return this.#lease()
    if (draw < 62) return this.#line()
    if (draw < 74) return this.#settle()
    if (draw < 84) return { name: 'sweep', run: ({ ledger }, a) => ledger.sweep(a, 1 + (draw % 3) * 20) }
    if (draw < 88) return draw % 2 === 0 ? this.#claim() : this.#claimSlots()
    if (draw < 91) return this.#restock()
    if (draw < 93) return this.#replay()
    if (draw < 95) return this.#open()
    return this.#rebuildStep(draw)
  }

  #reserve(): Call {
    const batch = Array.from({ length: 1 + this.#below(5) }, () => {
      const token = this.#tokenId()
      return {
        tokenId: token,
        uid: this.#uid(),
        skuId: 1 + this.#below(3),
        quantity: 1 + this.#below(2),
        expiresAt: this.#expiry(),
      }
    })
    return { name: 'reserve', run: ({ ledger }, a) => ledger.reserve(a, batch) }
  }

  #grant(): Call {
    const who = this.#who()
    const isAdopted = this.#below(4) === 0
    const grants = Array.from({ length: 1 + this.#below(4) }, () => {
      const uid = this.#uid()
      return {
        tokenId: this.#tokenId(),
        uid,
        slot: slotOf(uid),
        skuId: 1 + this.#below(3),
        quantity: 1,
        expiresAt: this.#expiry(),
      }
    })
    if (isAdopted) return { name: 'adopt-grants', run: ({ log }, a) => log.adopt({ ...who, activityId: a }, grants) }
    return { name: 'grant', run: ({ log }, a) => log.grant({ ...who, activityId: a }, grants) }
  }

  #lease(): Call {
    const who = this.#who()
    const wishes = [1, 2, 3, 9].slice(this.#below(3)).map((skuId) => ({
      skuId,
      want: this.#below(8),
      more: this.#below(6),
      giveBack: this.#below(4),
      demandMs: this.#below(500),
      pacePerSecond: [null, 2.5, 40, 7][this.#below(4)] ?? null,
    }))
    return { name: 'lease', run: async ({ log }, a) => [...(await log.lease({ ...who, activityId: a }, wishes))] }
  }

  /** Mostly products 1 and 2, so that grants of product 3 need no turn. */
  #line(): Call {
    const who = this.#who()
    const skuId = [1, 2, 1, 2, 1, 2, 3, 9][this.#below(8)] ?? 1
    if (this.#below(60) === 0) return { name: 'clear-lines', run: ({ lines }, a) => lines.clear(a, [1, 2, 3]) }
    const mode = (['queue', 'draw', 'list'] as const)[this.#below(9) === 0 ? 2 : skuId % 2] ?? 'queue'
    const times = { heartbeatMs: 3_000, callMs: 2_000, callsAt: 1_800_000_060_000 + this.#below(200) }
    const uids = (count: number) => Array.from({ length: this.#below(count) }, this.#uid)
    const joins = uids(6).map((uid) => ({ uid, score: uid * 1_000_003, pseudonym: `p${uid}` }))
    const more = { calledMax: [undefined, 0, 3][this.#below(3)], thereAt: this.#below(8) === 0 ? this.#now : 0 }
    const call = { skuId, mode, ...times, ...more, joins, heard: uids(8) }
    return {
      name: `line ${mode}`,
      run: async ({ lines }, a) => ({
        reply: await lines.serve({ ...who, activityId: a }, call),
        state: await lines.state(a, skuId),
        drawn: await lines.drawn(a, skuId, 0),
      }),
    }
  }

  #settle(): Call {
    const known = [...this.#orders.keys()]
    const pick = () => known[this.#below(Math.max(1, known.length))] ?? 'o0'
    const orderIds = Array.from({ length: 1 + this.#below(3) }, pick)
    if (this.#below(2) === 0) return { name: 'confirm', run: ({ ledger }, a) => ledger.confirm(a, orderIds) }
    return { name: 'cancel', run: ({ ledger }, a) => ledger.cancel(a, orderIds) }
  }

  #claim(): Call {
    const nodeId = `m${this.#below(3)}`
    return {
      name: 'claim',
      run: async ({ log }, a) => {
        const fence = await log.claim(a, nodeId)
        this.#fences.set(nodeId, fence)
        return fence
      },
    }
  }

  #claimSlots(): Call {
    const who = this.#who()
    const from = this.#below(4)
    const slots = Array.from({ length: 40 }, (_, uid) => slotOf(uid + 1)).filter((_, at) => at % 4 !== from)
    const [epoch, held] = [1 + this.#below(9), this.#below(3) === 0 ? who.fence : 0]
    return {
      name: 'claim-slots',
      run: ({ log }, a) => log.claimSlots({ ...who, activityId: a }, slots, epoch, held),
    }
  }

  #restock(): Call {
    const requestId = `r${this.#below(20)}`
    const op = (['add', 'remove', 'set'] as const)[this.#below(3)] ?? 'add'
    const [skuId, units] = [1 + this.#below(4), this.#below(20)]
    return { name: `restock ${op}`, run: ({ ledger }, a) => ledger.restock(a, skuId, { requestId, op, units }) }
  }

  #replay(): Call {
    const slots = Array.from({ length: 40 }, (_, uid) => slotOf(uid + 1))
    return {
      name: 'replay',
      run: async ({ log }, a) =>
        (await log.replay(a, slots)).sort((x, y) => (x.grant.tokenId < y.grant.tokenId ? -1 : 1)),
    }
  }

  #open(): Call {
    const rule = (['once-per-product', 'one-product-per-activity', 'unlimited'] as const)[this.#below(3)] ?? 'unlimited'
    const skus: LedgerSku[] = [1, 2, 3].map((skuId) => ({
      ...{ skuId, stock: 10 + skuId * 7, overbook: [1, 1.3, 2][skuId - 1] ?? 1 },
      ...{ limitPerBuyer: skuId, priceCents: 100, holdSeconds: skuId },
    }))
    return { name: `open ${rule}`, run: ({ ledger }, a) => ledger.open(a, rule, skus) }
  }

  #rebuildStep(draw: number): Call {
    const orders = [...this.#orders.values()].slice(-8).map((order, index): LedgerOrder => {
      const state = (['held', 'paid', 'expired', 'cancelled'] as const)[(index + draw) % 4] ?? 'held'
      const version = state === 'held' ? 1 : 2
      const isOther = this.#below(3) === 0
      return { ...order, state, version, ...(isOther ? { orderId: `o${this.#tokenId()}`, seq: order.seq + 50 } : {}) }
    })
    return {
      name: 'rebuild',
      run: async ({ ledger }, a) => {
        const before = await ledger.beginRebuild(a)
        const refused = await outcomeOf(() => ledger.sweep(a, 5))
        const adopted = orders.length === 0 ? undefined : await ledger.adopt(a, orders, draw % 2 === 0)
        const guard = await ledger.endRebuild(a, before.epoch + 1, { seqAtLeast: before.seq })
        return { before, refused, adopted, guard }
      },
    }
  }

  /** Mostly the right fence. */
  #who() {
    const nodeId = `m${this.#below(3)}`
    return { nodeId, fence: this.#below(12) === 0 ? 5 : (this.#fences.get(nodeId) ?? 1) }
  }

  #learn(outcome: unknown): void {
    const rows = Array.isArray(outcome) ? outcome : []
    for (const row of rows as ({ order?: LedgerOrder } | null)[]) {
      const order = row?.order
      if (order !== undefined) this.#orders.set(order.orderId, order)
    }
  }

  #tokenId(): string {
    const n = this.#below(5) === 0 ? 1 + this.#below(this.#token + 1) : ++this.#token
    return n.toString(16).padStart(32, '0')
  }

  #uid = () => 1 + this.#below(40)
  #expiry = () => this.#now + this.#below(4_000) - 300
  #below = (n: number) => Math.floor(this.#random.next() * n)
}

interface Call {
  readonly name: string
  readonly run: (side: Side, activityId: number) => Promise<unknown>
}

class Side {
  readonly ledger: Ledger
  readonly log: GrantLog
  readonly lease: NameLease
  readonly lines: Lines

  constructor(over: Store) {
    this.ledger = new Ledger(over)
    this.log = new GrantLog(over, new Guards(over))
    this.lease = new NameLease(over, { name: 'x', owner: 'me', ttlMs: 1_000 })
    this.lines = new Lines(over, new Guards(over))
  }
}

async function outcomeOf(run: () => Promise<unknown>): Promise<unknown> {
  try {
    return (await run()) ?? null
  } catch (error) {
    const code = ['STALE_GUARD', 'STALE_FENCE', 'LEDGER_IN_DOUBT', 'LEDGER_UNKNOWN'].find((one) => hasCode(error, one))
    if (code === undefined) throw error
    return code
  }
}

/** The real server, with the scripts' clock taken from a key: both sides then live at the same time. */
function withSettableTime(real: Store): Store {
  const redis = new Proxy(real.redis, {
    get: (target, name) => {
      if (name === 'evalsha') return () => Promise.reject(new Error('NOSCRIPT'))
      if (name === 'eval')
        return (text: string, ...rest: [number, ...string[]]) =>
          Reflect.apply(target.eval, target, [
            text.replace("redis.call('TIME')", `redis.call('LRANGE', '${TIME_KEY}', 0, 1)`),
            ...rest,
          ])
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return Object.create(real, { redis: { value: redis } }) as Store
}

type State = Record<string, unknown>

async function realState(activityId: number): Promise<State> {
  const { redis: client } = store
  const state: State = {}
  for (const key of (await client.keys(`${rootKey(activityId)}*`)).sort()) {
    const type = await client.type(key)
    if (type === 'hash') state[key] = await client.hgetall(key)
    else if (type === 'set') state[key] = (await client.smembers(key)).sort()
    else if (type === 'list') state[key] = await client.lrange(key, 0, -1)
    else if (type === 'zset') state[key] = await client.zrange(key, '0', '-1', 'WITHSCORES')
    else if (type === 'stream') state[key] = (await client.xrange(key, '-', '+')).map(([, fields]) => fields)
    else state[key] = await client.get(key)
  }
  return state
}

function modelState({ keys }: RedisModel, activityId: number): State {
  const state: State = {}
  const put = (key: string, value: unknown): void => {
    if (key.startsWith(rootKey(activityId))) state[key] = value
  }
  for (const [key, hash] of keys.hashes) put(key, Object.fromEntries(hash))
  for (const [key, set] of keys.sets) put(key, [...set].sort())
  for (const [key, list] of keys.lists) put(key, [...list])
  for (const [key, set] of keys.sortedSets)
    put(
      key,
      keys.zrange(key).flatMap((member) => [member, String(set.get(member))]),
    )
  for (const [key, stream] of keys.streams)
    put(
      key,
      stream.map(({ fields }) => fields),
    )
  for (const [key, value] of keys.strings) put(key, value)
  return state
}
