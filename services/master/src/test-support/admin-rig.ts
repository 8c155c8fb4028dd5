/** For tests: a master on a real Redis and PostgreSQL, and operators with a browser. */

import { createDb, type Db } from '@bigtap/db'
import { createMemoryLog } from '@bigtap/eventlog'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import {
  CatalogStore,
  connectStore,
  heartbeatLoop,
  Ledger,
  Nodes,
  Reservations,
  type Store,
  type Tick,
} from '@bigtap/store'
import { type Engine, SeededRandom, startPostgres, startRedis, waitFor } from '@bigtap/testkit'
import { hashPassword } from '../http/accounts.ts'
import { createMaster, type MasterSettings } from '../master.ts'

type Master = ReturnType<typeof createMaster>

/** What the API answered. */
export interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const WORDS = { operator: 'the word of operator', admin: 'the word of admin', viewer: 'the word of viewer' } as const

/** Somebody who may be signed in. */
export class Operator {
  cookie = ''
  csrf = ''
  /** Sees every answer. */
  onAnswer: (method: string, path: string, seen: { status: number; contentType: string; body: unknown }) => void = () =>
    undefined
  readonly #origin: () => string

  constructor(origin: () => string) {
    this.#origin = origin
  }

  async login(name: keyof typeof WORDS): Promise<void> {
    const { status, body } = await this.call('POST', 'login', { name, password: WORDS[name] })
    if (status !== 200) throw new Error(`login of ${name} was answered ${status}`)
    this.csrf = String(body.csrf)
  }

  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const isDocument = body !== undefined && typeof body !== 'string'
    const answer = await fetch(`${this.#origin()}/admin/v1/${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...{ cookie: this.cookie, 'x-csrf-token': this.csrf },
        ...headers,
      },
      ...(body === undefined ? {} : { body: isDocument ? JSON.stringify(body) : String(body) }),
    })
    const cookie = answer.headers.get('set-cookie')
    if (cookie !== null && answer.ok) this.cookie = cookie.split(';')[0] ?? ''
    const text = await answer.text()
    const contentType = answer.headers.get('content-type') ?? ''
    const isJson = /^application\/(problem\+)?json/.test(contentType) && text !== ''
    const seen = { status: answer.status, contentType, body: isJson ? JSON.parse(text) : text }
    this.onAnswer(method, `/admin/v1/${path}`, seen)
    return { status: answer.status, body: isJson ? seen.body : { text } }
  }
}

/** The rig; `tick` is what dcacenter would tell. */
export class AdminRig {
  readonly redis: Engine
  readonly postgres: Engine
  readonly db: Db
  readonly store: Store
  readonly ledger: Ledger
  readonly catalog: CatalogStore
  readonly reservations: Reservations
  readonly log = createMemoryLog()
  readonly #listeners: ((tick: Tick) => void)[] = []
  readonly #settings: Partial<MasterSettings>
  #master: Master | undefined
  #middle: { start(): void; stop(): Promise<void> | void } | undefined
  #seed = 1

  constructor(engines: { redis: Engine; postgres: Engine }, settings: Partial<MasterSettings>) {
    this.redis = engines.redis
    this.postgres = engines.postgres
    this.#settings = settings
    this.db = createDb({ url: this.postgres.url, connectMs: 500 })
    this.store = connectStore({ url: this.redis.url, commandMsMax: 1_000 }, { logger: nullLogger })
    this.ledger = new Ledger(this.store)
    this.catalog = new CatalogStore(this.store)
    this.reservations = new Reservations(this.store)
  }

  get origin(): string {
    return `http://127.0.0.1:${this.master.server.port()}`
  }

  get master(): Master {
    if (this.#master === undefined) throw new Error('there is no master')
    return this.#master
  }

  async signedIn(name: keyof typeof WORDS): Promise<Operator> {
    const operator = new Operator(() => this.origin)
    await operator.login(name)
    return operator
  }

  tick(tick: Partial<Tick>): void {
    const whole: Tick = { at: clock.now(), totals: {}, skus: [], nodes: [], ...tick }
    for (const listener of this.#listeners) listener(whole)
  }

  async start(): Promise<void> {
    const nodes = new Nodes(this.store)
    this.#middle ??= heartbeatLoop(nodes, () => ({
      ...{ id: 'middle-1', role: 'middle', state: 'ready', address: '127.0.0.1:8300', statsAddress: '' },
      ...{ revision: 1_000_000_000, digest: '', at: Date.now() },
    }))
    this.#middle.start()
    const { db, store, ledger, catalog, reservations } = this
    const master = createMaster(await this.#whole(), {
      ...{ db, store, ledger, catalog, reservations, nodes, clock, random: new SeededRandom(++this.#seed) },
      ...{ verdictTopic: this.log.producer() },
      ...{ logger: nullLogger, metrics: nullMetrics, figures: { onTick: (one) => void this.#listeners.push(one) } },
    })
    this.#master = master
    for (const part of master.parts) await part.start?.()
    await waitFor('master leads', () => master.parts.every((part) => part.ready?.() !== false), 20_000)
  }

  async stopMaster(): Promise<void> {
    for (const part of [...(this.#master?.parts ?? [])].reverse()) await part.stop?.()
    this.#listeners.length = 0
  }

  async stop(): Promise<void> {
    await this.stopMaster()
    await this.#middle?.stop()
    await this.store.close()
    await this.db.close()
    await Promise.all([this.redis.stop(), this.postgres.stop()])
  }

  /** The body of a published document. */
  async doc<T>(key: string): Promise<T | undefined> {
    return (await this.catalog.readSince(0)).find((one) => one.key === key)?.body as T | undefined
  }

  async #whole(): Promise<MasterSettings> {
    const viewer = `viewer:viewer:${await hashPassword(WORDS.viewer, '00112233445566778899aabbccddeeff')}`
    return {
      ...{ nodeId: 'master-1', host: '127.0.0.1', address: '', port: 0, databaseUrl: this.postgres.url, routers: [] },
      ...{ tokenSecret: 'tokens of the tests', clusterSecret: 'links of the tests', consoleDir: undefined },
      ...{ operatorPassword: WORDS.operator, adminPassword: WORDS.admin, operators: viewer },
      ...{ preloadMs: 60_000, confirmUnits: 1_000, warehouse: 'postgres', warehouseToken: undefined },
      alertWebhook: undefined,
      ...this.#settings,
    }
  }
}

/** Starts the engines and a master. */
export async function startAdminRig(settings: Partial<MasterSettings> = {}): Promise<AdminRig> {
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()])
  const rig = new AdminRig({ redis, postgres }, settings)
  await rig.start()
  return rig
}
