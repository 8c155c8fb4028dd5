/** For tests: sales in a real Redis, and Middle nodes behind real links. */

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Documents } from '@bigtap/catalog'
import {
  type Admission,
  activityKey,
  checkInvariants,
  DEFAULT_POLICY,
  DEFAULT_WAITING,
  type Figures,
  type Policy,
  SLOTS_KEY,
  skuKey,
  VERDICT,
  type WaitingDoc,
} from '@bigtap/domain'
import { nullLogger, nullMetrics, SLOT_COUNT } from '@bigtap/kernel'
import { AskColumns, decodeVerdictBatch, encodeAskBatch, KIND, VerdictColumns } from '@bigtap/protocol'
import { connectStore, GrantLog, Guards, Ledger, type Store } from '@bigtap/store'
import { type Engine, startRedis, waitFor } from '@bigtap/testkit'
import { createKeyRing, verifyAdmission } from '@bigtap/token'
import { createDialer, createServer, type Dialer, type Server } from '@bigtap/transport'
import { MiddleNode } from '../middle-node.ts'

const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const random = {
  next: () => Math.random(),
  bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
}
const tools = { logger: nullLogger, metrics: nullMetrics, clock, random }
const ring = createKeyRing({ current: 'a secret of the middle tests' })
const cluster = { clusterSecret: 'a cluster secret of the tests' }
const limits = { recordsMax: 100_000, pendingMax: 8_192, waitingMax: 8_192, rereadsMax: 64, asksPerFrameMax: 4_096 }

/** What a buyer was told. */
export interface Answer {
  readonly code: number
  readonly tokenId: string | undefined
  readonly place: number
  readonly ahead: number
  readonly retryAfterMs: number
}

/** A sale of one SKU; `nodes` share the slots in turn. */
export interface Sale {
  readonly stock: number
  readonly nodes?: readonly string[]
  readonly policy?: Partial<Policy>
  readonly limitPerBuyer?: number
  readonly admission?: Admission
  readonly waiting?: Partial<WaitingDoc>
  /** Ms from now; 1 s ago when left out. */
  readonly opensInMs?: number
}

type Faulty = (log: GrantLog) => GrantLog

/** Answers after which a buyer asks again. */
export const LATER: readonly number[] = [VERDICT.queued, VERDICT.unavailable, VERDICT.moving]

/** A Redis and the sales in it. */
export class SaleRig {
  redis: Engine
  activity = 0
  readonly store: Store
  readonly ledger: Ledger
  readonly #running: RunningNode[] = []

  constructor(redis: Engine) {
    this.redis = redis
    this.store = connectStore({ url: redis.url, commandMsMax: 2_000 }, { logger: nullLogger })
    this.ledger = new Ledger(this.store)
  }

  /** Opens a ledger and makes the documents of a sale that is open. */
  async sale(terms: Sale): Promise<Documents> {
    const { stock, nodes = ['a'], policy = {}, limitPerBuyer = 1, opensInMs = -1_000 } = terms
    const { admission = 'direct', waiting = {} } = terms
    const id = ++this.activity
    const row = { skuId: 1, stock, overbook: 1, limitPerBuyer, priceCents: 100, holdSeconds: 60 }
    await this.ledger.open(id, 'once-per-product', [row])
    const now = Date.now()
    const documents = new Documents()
    const times = { opensAt: now + opensInMs, closesAt: now + 600_000 }
    const waits = { admission, waiting: { ...DEFAULT_WAITING, ...waiting } }
    const bodies: [string, unknown][] = [
      [activityKey(id), { id, title: 'a', state: 'open', ...times, ...waits, rule: 'once-per-product', skuIds: [1] }],
      [skuKey(id, 1), this.skuBody(stock, limitPerBuyer, policy)],
      [SLOTS_KEY, slotTable(1, nodes, (slot) => slot % nodes.length)],
    ]
    for (const [key, body] of bodies) apply(documents, key, 1, body)
    return documents
  }

  skuBody(stock: number, limitPerBuyer: number, policy: Partial<Policy>) {
    const money = { title: 's', priceCents: 100, currency: 'CNY', imageUrl: '' }
    const rest = { ...money, stock, limitPerBuyer, policy: { ...DEFAULT_POLICY, ...policy }, paused: false }
    return { id: 1, activityId: this.activity, ...rest }
  }

  /** A node that serves; it is stopped with the rig's others. */
  async start(nodeId: string, catalog: Documents, faulty: Faulty = (log) => log): Promise<RunningNode> {
    const one = new RunningNode(nodeId, { rig: this, catalog, faulty })
    this.#running.push(one)
    await one.start()
    await one.serves()
    return one
  }

  async stopNodes(): Promise<void> {
    for (const one of this.#running.splice(0)) await one.stop()
  }

  async stop(): Promise<void> {
    await this.store.close()
    await this.redis.stop()
  }

  /** The SKU's figures; throws what does not hold of them. */
  async figures(): Promise<Figures> {
    const found = (await this.ledger.figures(this.activity)).get(1)
    if (found === undefined) throw new Error('no figures')
    const violations = checkInvariants(found)
    if (violations.length > 0) throw new Error(violations.join(', '))
    return found
  }
}

/** A rig on a Redis that writes at once. */
export async function startRig(): Promise<SaleRig> {
  const dir = mkdtempSync(join(tmpdir(), 'bigtap-middle-'))
  const rig = new SaleRig(await startRedis({ dir, appendfsync: 'always' }))
  await rig.store.waitUntilReady(5_000)
  return rig
}

/** A slot table. */
export function slotTable(epoch: number, nodes: readonly string[], ownerOf: (slot: number) => number) {
  const owners = Array.from({ length: SLOT_COUNT }, (_, slot) => ownerOf(slot))
  return { epoch, nodes: nodes.map((id) => ({ id, address: '127.0.0.1:1' })), owners }
}

/** Puts a document into a catalog; throws when it is refused. */
export function apply(catalog: Documents, key: string, revision: number, body: unknown): void {
  const applied = catalog.apply({ key, revision, body })
  if (applied !== 'applied') throw new Error(`document ${key} is ${applied}`)
}

/** A node behind a real link, with its own connection to Redis. */
export class RunningNode {
  readonly node: MiddleNode
  readonly #own: Store
  readonly #rig: SaleRig
  readonly #answers = new Map<number, (answer: Answer) => void>()
  readonly #verdicts = new VerdictColumns(1_024)
  #server: Server | undefined
  #dialer: Dialer | undefined
  #askId = 0

  constructor(nodeId: string, { rig, catalog, faulty }: { rig: SaleRig; catalog: Documents; faulty: Faulty }) {
    this.#rig = rig
    this.#own = connectStore({ url: rig.redis.url, commandMsMax: 500 }, { logger: nullLogger })
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
    if (!(await this.#dialer.ready(5_000))) throw new Error('no link to the node')
    this.node.start()
  }

  ask(uids: readonly number[]): Promise<Answer[]> {
    const asks = new AskColumns(uids.length)
    asks.budgetMs = 1_500
    const answers = uids.map((uid) => {
      asks.push(++this.#askId, uid, this.#rig.activity, 1, 1)
      const askId = this.#askId
      return new Promise<Answer>((resolve) => this.#answers.set(askId, resolve))
    })
    const bytes = new Uint8Array(64 + uids.length * 28)
    const end = encodeAskBatch(asks, bytes)
    if (this.#dialer?.send(KIND.ask, 0, bytes.subarray(0, end)) !== true) throw new Error('asks were not sent')
    return Promise.all(answers)
  }

  /** Asks again, as a buyer would, until the answer is no longer "later". */
  async buy(uid: number): Promise<Answer> {
    return waitFor(`an answer for ${uid}`, async () => {
      const [answer] = await this.ask([uid])
      return answer === undefined || LATER.includes(answer.code) ? false : answer
    })
  }

  async serves(): Promise<void> {
    await waitFor('the node serves', () => this.node.isServing && this.node.view()[0]?.isServing)
    await waitFor('a lease', () => this.node.view()[0]?.state !== 'ready')
  }

  /** Waits until an ask would be granted. */
  async hasPlaces(): Promise<void> {
    await waitFor('places', () => (this.node.view()[0]?.available ?? 0) > 0)
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
      const line = { place: batch.place[row] ?? 0, ahead: batch.ahead[row] ?? 0 }
      const answer = { code: batch.code[row] ?? 0, tokenId, ...line, retryAfterMs: batch.retryAfterMs[row] ?? 0 }
      this.#answers.get(batch.askId[row] ?? 0)?.(answer)
    }
  }
}

type Grant = GrantLog['grant']

/** The real log, but for how a grant's write ends. */
export function withGrant(
  log: GrantLog,
  end: (grant: Grant, ...args: Parameters<Grant>) => ReturnType<Grant>,
): GrantLog {
  return withVerb(log, 'grant', ((who, grants) => end(log.grant.bind(log), who, grants)) satisfies Grant)
}

/** The real log, but for one verb. */
export function withVerb<Name extends keyof GrantLog>(log: GrantLog, name: Name, verb: GrantLog[Name]): GrantLog {
  return new Proxy(log, {
    get: (target, asked) => {
      if (asked === name) return verb
      const value: unknown = Reflect.get(target, asked, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** Uids that a test picks. */
export function uidsOf(count: number, isPicked: (uid: number) => boolean = () => true): number[] {
  return Array.from({ length: count * 8 }, (_, index) => index + 1)
    .filter(isPicked)
    .slice(0, count)
}
