import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Documents } from '@bigtap/catalog'
import { activityKey, checkInvariants, DEFAULT_POLICY, type Policy, SLOTS_KEY, skuKey, VERDICT } from '@bigtap/domain'
import { CodedError, nullLogger, nullMetrics, SLOT_COUNT, slotOf } from '@bigtap/kernel'
import { AskColumns, decodeVerdictBatch, encodeAskBatch, KIND, VerdictColumns } from '@bigtap/protocol'
import { connectStore, GrantLog, Guards, Ledger, type Store } from '@bigtap/store'
import { type Engine, startRedis, waitFor } from '@bigtap/testkit'
import { createKeyRing, verifyAdmission } from '@bigtap/token'
import { createDialer, createServer, type Dialer, type Server } from '@bigtap/transport'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { MiddleNode } from './middle-node.ts'

const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const random = {
  next: () => Math.random(),
  bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
}
const tools = { logger: nullLogger, metrics: nullMetrics, clock, random }
const ring = createKeyRing({ current: 'a secret of the middle tests' })
const cluster = { clusterSecret: 'a cluster secret of the tests' }
const limits = { recordsMax: 100_000, pendingMax: 8_192, waitingMax: 8_192, rereadsMax: 64, asksPerFrameMax: 4_096 }

let redis: Engine
let store: Store
let ledger: Ledger
let activity = 0
const running: Running[] = []

interface Answer {
  readonly code: number
  readonly tokenId: string | undefined
}

interface Sale {
  readonly stock: number
  readonly nodes?: readonly string[]
  readonly policy?: Partial<Policy>
  readonly limitPerBuyer?: number
}

beforeAll(async () => {
  redis = await startRedis({ dir: mkdtempSync(join(tmpdir(), 'bigtap-middle-')), appendfsync: 'always' })
  store = connectStore({ url: redis.url, commandMsMax: 2_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
  ledger = new Ledger(store)
})

afterEach(async () => {
  for (const one of running.splice(0)) await one.stop()
})

afterAll(async () => {
  await store.close()
  await redis.stop()
})

/** Opens a ledger and makes the documents of a sale that is open. */
async function sale({ stock, nodes = ['a'], policy = {}, limitPerBuyer = 1 }: Sale): Promise<Documents> {
  activity++
  const id = activity
  const row = { skuId: 1, stock, overbook: 1, limitPerBuyer, priceCents: 100, holdSeconds: 60 }
  await ledger.open(id, 'once-per-product', [row])
  const now = Date.now()
  const documents = new Documents()
  const times = { opensAt: now - 1_000, closesAt: now + 600_000 }
  const owners = Array.from({ length: SLOT_COUNT }, (_, slot) => slot % nodes.length)
  const bodies: [string, unknown][] = [
    [activityKey(id), { id, title: 'a', state: 'open', ...times, rule: 'once-per-product', skuIds: [1] }],
    [skuKey(id, 1), skuBody(id, stock, limitPerBuyer, policy)],
    [SLOTS_KEY, { epoch: 1, nodes: nodes.map((node) => ({ id: node, address: '127.0.0.1:1' })), owners }],
  ]
  for (const [key, body] of bodies) expect(documents.apply({ key, revision: 1, body })).toBe('applied')
  return documents
}

function skuBody(activityId: number, stock: number, limitPerBuyer: number, policy: Partial<Policy>) {
  const money = { title: 's', priceCents: 100, currency: 'CNY', imageUrl: '' }
  return { id: 1, activityId, ...money, stock, limitPerBuyer, policy: { ...DEFAULT_POLICY, ...policy }, paused: false }
}

/** A node behind a real link, with its own connection to Redis. */
class Running {
  readonly node: MiddleNode
  readonly #own: Store
  readonly #answers = new Map<number, (answer: Answer) => void>()
  readonly #verdicts = new VerdictColumns(1_024)
  #server: Server | undefined
  #dialer: Dialer | undefined
  #askId = 0

  constructor(nodeId: string, catalog: Documents, faulty: (log: GrantLog) => GrantLog) {
    this.#own = connectStore({ url: redis.url, commandMsMax: 500 }, { logger: nullLogger })
    const log = faulty(new GrantLog(this.#own, new Guards(this.#own)))
    this.node = new MiddleNode({ nodeId, ...limits }, { ...tools, catalog, log, ring })
  }

  async start(): Promise<void> {
    await this.#own.waitUntilReady(5_000)
    this.#server = createServer(
      { host: '127.0.0.1', port: 0, nodeId: 'middle', role: 'middle', drainMs: 100, ...cluster },
      { ...tools, onFrame: (link, kind, _correlation, body) => this.node.onFrame(link, kind, body) },
    )
    const { port } = await this.#server.start()
    this.#dialer = createDialer(
      { address: `127.0.0.1:${port}`, nodeId: 'limiter', role: 'limiter', drainMs: 100, ...cluster },
      { ...tools, onFrame: (_link, _kind, _correlation, body) => this.#onVerdicts(body) },
    )
    this.#dialer.start()
    expect(await this.#dialer.ready(5_000)).toBe(true)
    this.node.start()
  }

  ask(uids: readonly number[]): Promise<Answer[]> {
    const asks = new AskColumns(uids.length)
    asks.budgetMs = 1_500
    const answers = uids.map((uid) => {
      asks.push(++this.#askId, uid, activity, 1, 1)
      const askId = this.#askId
      return new Promise<Answer>((resolve) => this.#answers.set(askId, resolve))
    })
    const bytes = new Uint8Array(64 + uids.length * 28)
    const end = encodeAskBatch(asks, bytes)
    expect(this.#dialer?.send(KIND.ask, 0, bytes.subarray(0, end))).toBe(true)
    return Promise.all(answers)
  }

  async serves(): Promise<void> {
    await waitFor('the node serves', () => this.node.isServing && this.node.view()[0]?.isServing)
    await waitFor('a lease', () => this.node.view()[0]?.state !== 'ready')
  }

  async stop(): Promise<void> {
    this.node.stop()
    await this.#dialer?.stop()
    await this.#server?.stop()
    await this.#own.close()
  }

  #onVerdicts(body: Uint8Array): void {
    const batch = this.#verdicts
    decodeVerdictBatch(body, batch)
    for (let row = 0; row < batch.rows; row++) {
      const result = batch.token[row] === '' ? undefined : verifyAdmission(ring, batch.token[row] ?? '', Date.now())
      const tokenId = result?.ok === true ? result.claims.tokenId : undefined
      this.#answers.get(batch.askId[row] ?? 0)?.({ code: batch.code[row] ?? 0, tokenId })
    }
  }
}

async function start(nodeId: string, catalog: Documents, faulty = (log: GrantLog) => log): Promise<Running> {
  const one = new Running(nodeId, catalog, faulty)
  running.push(one)
  await one.start()
  await one.serves()
  return one
}

const LATER: readonly number[] = [VERDICT.queued, VERDICT.unavailable, VERDICT.moving]

/** Asks again, as a buyer would, until the answer is no longer "later". */
async function buy(one: Running, uid: number): Promise<Answer> {
  return waitFor(`an answer for ${uid}`, async () => {
    const [answer] = await one.ask([uid])
    return answer === undefined || LATER.includes(answer.code) ? false : answer
  })
}

const figures = async () => {
  const found = (await ledger.figures(activity)).get(1)
  if (found === undefined) throw new Error('no figures')
  expect(checkInvariants(found)).toEqual([])
  return found
}
const uidsOf = (count: number, isPicked: (uid: number) => boolean = () => true) =>
  Array.from({ length: count * 8 }, (_, index) => index + 1)
    .filter(isPicked)
    .slice(0, count)

test('a crowd gets exactly the stock, and a repeated click the same token', async () => {
  const one = await start('a', await sale({ stock: 100 }))
  const uids = uidsOf(1_000)
  const tokens = new Map<number, string>()

  await waitFor('all places are granted', async () => {
    for (const [index, { tokenId }] of (await one.ask(uids)).entries()) {
      if (tokenId === undefined) continue
      const uid = uids[index] ?? 0
      expect(tokens.get(uid) ?? tokenId).toBe(tokenId)
      tokens.set(uid, tokenId)
    }
    return tokens.size === 100
  })

  expect(new Set(tokens.values()).size).toBe(100)
  expect(one.node.grantedTotal).toBe(100)
  expect(await figures()).toMatchObject({ outstanding: 100, pool: 0, leased: 0 })
})

test('crash between grant and answer: after the restart the buyer gets the same token, no second grant', async () => {
  const catalog = await sale({ stock: 10 })
  const written: string[] = []
  const dying = await start('a', catalog, (log) =>
    withGrant(log, async (grant, who, grants) => {
      await grant(who, grants)
      written.push(...grants.map(({ tokenId }) => tokenId))
      return new Promise(() => undefined)
    }),
  )
  await waitFor('the grant is written', () => {
    void dying.ask([7])
    return written.length === 1
  })
  dying.node.stop()

  const again = await start('a', catalog)

  expect((await buy(again, 7)).tokenId).toBe(written[0])
  expect(again.node.grantedTotal).toBe(1)
  expect(await figures()).toMatchObject({ outstanding: 1 })
})

test.each([true, false])(
  'a write that got no answer (carried out: %s) is neither refused nor granted twice',
  async (isDone) => {
    const written: string[] = []
    let failures = 1
    const one = await start('a', await sale({ stock: 10 }), (log) =>
      withGrant(log, async (grant, who, grants) => {
        if (failures-- <= 0) return grant(who, grants)
        if (isDone) await grant(who, grants)
        written.push(...grants.map(({ tokenId }) => tokenId))
        throw new CodedError({ code: 'STORE_FAILED', message: 'command timed out' })
      }),
    )

    const first = await waitFor('the write fails', async () => {
      const [answer] = await one.ask([7])
      return answer?.code === VERDICT.queued ? false : answer
    })
    expect(first.code).toBe(VERDICT.unavailable)
    const second = await buy(one, 7)

    expect(second.code).toBe(VERDICT.granted)
    expect(second.tokenId === written[0]).toBe(isDone)
    expect(one.node.grantedTotal).toBe(1)
    expect(await figures()).toMatchObject({ outstanding: 1 })
  },
)

test('of two nodes only one has buyers: all units are sold', async () => {
  const catalog = await sale({ stock: 300, nodes: ['a', 'b'] })
  const a = await start('a', catalog)
  await start('b', catalog)
  const uids = uidsOf(300, (uid) => slotOf(uid) % 2 === 0)
  const sold = new Set<number>()

  await waitFor('all are granted', async () => {
    for (const [index, { code }] of (await a.ask(uids)).entries())
      if (code === VERDICT.granted) sold.add(uids[index] ?? 0)
    return sold.size === 300
  })

  expect(await figures()).toMatchObject({ outstanding: 300, pool: 0, leased: 0 })
  const [foreign] = await a.ask(uidsOf(1, (uid) => slotOf(uid) % 2 === 1))
  expect(foreign?.code).toBe(VERDICT.notOwner)
})

test('a buyer who bought is told so, and can buy again after the hold was given back', async () => {
  const one = await start('a', await sale({ stock: 5 }))
  const { tokenId = '' } = await buy(one, 7)
  const token = { tokenId, uid: 7, skuId: 1, quantity: 1, expiresAt: Date.now() + 60_000 }
  await ledger.reserve(activity, [token])

  expect((await buy(one, 7)).code).toBe(VERDICT.alreadyBought)

  await ledger.cancel(activity, [`o${tokenId}`])
  const second = await waitFor('a second token', async () => {
    const answer = await buy(one, 7)
    return answer.code === VERDICT.granted && answer.tokenId !== tokenId ? answer : false
  })
  expect(second.tokenId).toHaveLength(32)
  expect(await figures()).toMatchObject({ outstanding: 1, held: 0 })
})

test('the pace is kept, and a new one holds at once', async () => {
  const catalog = await sale({ stock: 10_000, policy: { pacePerSecond: 100 } })
  const one = await start('a', catalog)
  const uids = uidsOf(1_000)
  const during = async (ms: number) => {
    const before = one.node.grantedTotal
    const until = performance.now() + ms
    while (performance.now() < until) await one.ask(uids)
    return one.node.grantedTotal - before
  }

  const slow = await during(1_000)
  expect(slow).toBeGreaterThan(80)
  expect(slow).toBeLessThan(125)

  catalog.apply({ key: skuKey(activity, 1), revision: 2, body: skuBody(activity, 10_000, 1, { pacePerSecond: 400 }) })
  one.node.applyCatalog()
  const fast = await during(1_000)
  expect(fast).toBeGreaterThan(330)
  expect(fast).toBeLessThan(480)
})

test('Redis restarted: nothing is granted until the ledger is verified, then old buyers have their tokens', async () => {
  const one = await start('a', await sale({ stock: 20 }))
  const { tokenId } = await buy(one, 7)
  const port = Number(new URL(redis.url).port)
  const dir = String((await store.redis.config('GET', 'dir')) as unknown as string[]).split(',')[1] ?? ''
  await redis.kill()
  redis = await startRedis({ port, dir, appendfsync: 'always' })
  await waitFor('redis is back', () => store.ready())

  expect((await one.ask([8]))[0]?.code).toBe(VERDICT.unavailable)
  await ledger.beginRebuild(activity)
  await ledger.endRebuild(activity, 2)

  expect((await buy(one, 7)).tokenId).toBe(tokenId)
  expect((await buy(one, 8)).code).toBe(VERDICT.granted)
  expect(one.node.grantedTotal).toBe(2)
  expect(await figures()).toMatchObject({ outstanding: 2 })
})

test('Redis emptied: tokens that were granted are put back into the new ledger', async () => {
  const one = await start('a', await sale({ stock: 20 }))
  const { tokenId } = await buy(one, 7)
  await store.redis.flushall()
  await waitFor('the loss is seen', () => !one.node.isServing)

  ledger.guards.forget(activity)
  const row = { skuId: 1, stock: 20, overbook: 1, limitPerBuyer: 1, priceCents: 100, holdSeconds: 60 }
  await ledger.open(activity, 'once-per-product', [row])

  expect((await buy(one, 7)).tokenId).toBe(tokenId)
  expect(await figures()).toMatchObject({ outstanding: 1 })
  expect(one.node.grantedTotal).toBe(1)
})

type Grant = GrantLog['grant']

/** The real log, but for how a grant's write ends. */
function withGrant(log: GrantLog, end: (grant: Grant, ...args: Parameters<Grant>) => ReturnType<Grant>): GrantLog {
  const grant: Grant = (who, grants) => end(log.grant.bind(log), who, grants)
  return new Proxy(log, {
    get: (target, name) => {
      if (name === 'grant') return grant
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
