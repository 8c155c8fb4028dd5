import { createDb, type Db } from '@bigtap/db'
import type { ActivityDoc, SlotTableDoc, StatusDoc } from '@bigtap/domain'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import { CatalogStore, connectStore, heartbeatLoop, Ledger, Nodes, Reservations, type Store } from '@bigtap/store'
import { type Engine, SeededRandom, startPostgres, startRedis, waitFor } from '@bigtap/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashPassword } from './http/accounts.ts'
import { createMaster } from './master.ts'

type Master = ReturnType<typeof createMaster>

const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const PASSWORD = 'a password of the tests'
let redis: Engine
let postgres: Engine
let db: Db
let store: Store
let catalog: CatalogStore
let ledger: Ledger
let master: Master
let middle: { start(): void; stop(): void }
let origin: string
let seed = 0

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

/** An operator with a browser. */
class Operator {
  cookie = ''
  csrf = ''

  async login(name = 'operator', password = PASSWORD): Promise<Answer & { cookie: string }> {
    const answer = await fetch(`${origin}/admin/v1/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name, password }),
    })
    const cookie = answer.headers.get('set-cookie') ?? ''
    const body = (await answer.json()) as Record<string, unknown>
    if (answer.ok) [this.cookie, this.csrf] = [cookie.split(';')[0] ?? '', String(body.csrf)]
    return { status: answer.status, body, cookie }
  }

  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const answer = await fetch(`${origin}/admin/v1/${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...{ cookie: this.cookie, 'x-csrf-token': this.csrf },
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? {} : JSON.parse(text) }
  }
}

const operator = new Operator()
const second = new Operator()
const admin = new Operator()

async function startMaster(): Promise<Master> {
  const salt = '00112233445566778899aabbccddeeff'
  const operators = [
    `other:operator:${await hashPassword('another password', salt)}`,
    `looker:viewer:${await hashPassword('only looking', salt)}`,
  ]
  const started = createMaster(
    {
      ...{ host: '127.0.0.1', port: 0, databaseUrl: postgres.url, tokenSecret: 'a secret of the tests' },
      ...{ operatorPassword: PASSWORD, operators: operators.join(','), consoleDir: undefined },
      ...{ nodeId: 'master-1', address: '', clusterSecret: 'a secret of the links', routers: [] },
      ...{ preloadMs: 60_000, confirmUnits: 100, adminPassword: 'the word of the admin' },
      ...{ warehouse: 'off', warehouseToken: undefined, alertWebhook: undefined },
    },
    {
      ...{ db, store, ledger, catalog, nodes: new Nodes(store), clock, random: new SeededRandom(++seed) },
      ...{ logger: nullLogger, metrics: nullMetrics, reservations: new Reservations(store) },
    },
  )
  for (const part of started.parts) await part.start?.()
  await waitFor('master is ready', () => started.parts.every((part) => part.ready?.() !== false))
  const address = started.server.app.server.address()
  origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : address}`
  return started
}

async function stopMaster(): Promise<void> {
  for (const part of [...(master?.parts ?? [])].reverse()) await part.stop?.()
}

beforeAll(async () => {
  ;[redis, postgres] = await Promise.all([startRedis(), startPostgres()])
  db = createDb({ url: postgres.url, connectMs: 500 })
  store = connectStore({ url: redis.url, commandMsMax: 1_000 }, { logger: nullLogger })
  catalog = new CatalogStore(store)
  ledger = new Ledger(store)
  middle = heartbeatLoop(new Nodes(store), () => ({
    ...{ id: 'middle-1', role: 'middle', state: 'ready', address: '127.0.0.1:8300', statsAddress: '' },
    ...{ revision: 1_000_000_000, digest: '', at: Date.now() },
  }))
  middle.start()
  master = await startMaster()
  await operator.login()
  await second.login('other', 'another password')
  await admin.login('admin', 'the word of the admin')
}, 120_000)

afterAll(async () => {
  await stopMaster()
  middle?.stop()
  await store?.close()
  await db?.close()
  await Promise.all([redis?.stop(), postgres?.stop()])
})

const newActivity = (more: Record<string, unknown> = {}) => ({
  ...{ title: 'Launch', opensAt: Date.now() + 1_500, closesAt: Date.now() + 600_000, rule: 'once-per-product' },
  ...more,
})
const newSku = { title: 'Phone', priceCents: 19_900, currency: 'EUR', stock: 2, limitPerBuyer: 1 }

async function draft(more: Record<string, unknown> = {}): Promise<{ a: number; s: number }> {
  const a = (await operator.call('POST', 'activities', newActivity(more))).body.id as number
  const s = (await operator.call('POST', `activities/${a}/skus`, newSku)).body.id as number
  return { a, s }
}

async function doc<T>(key: string): Promise<T | undefined> {
  return (await catalog.readSince(0)).find((one) => one.key === key)?.body as T | undefined
}

const stateOf = async (a: number) => (await doc<ActivityDoc>(`activity:${a}`))?.state
const act = (a: number, event: string, who = operator) => who.call('POST', `activities/${a}/actions/${event}`)

test('nobody gets in without a session, a password or the CSRF header', async () => {
  const stranger = new Operator()
  expect((await stranger.call('GET', 'activities')).status).toBe(401)
  expect((await stranger.call('POST', 'activities', newActivity())).status).toBe(401)
  expect((await stranger.login('operator', 'wrong')).status).toBe(401)
  expect((await stranger.login('nobody', PASSWORD)).status).toBe(401)

  const { status, cookie } = await stranger.login()
  expect(status).toBe(200)
  expect(cookie).toMatch(/^bt_admin=.*HttpOnly; SameSite=Strict/)
  stranger.csrf = 'guessed'
  const answer = await stranger.call('POST', 'activities', newActivity())
  expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } })
})

test('a viewer reads and changes nothing', async () => {
  const viewer = new Operator()
  await viewer.login('looker', 'only looking')
  expect((await viewer.call('GET', 'activities')).status).toBe(200)
  expect((await viewer.call('POST', 'activities', newActivity())).status).toBe(403)
})

test('bad input is refused with every error listed', async () => {
  const answer = await operator.call('POST', 'activities', { title: '', opensAt: -1, closesAt: 'soon', rule: 'any' })
  expect(answer).toMatchObject({ status: 400, body: { code: 'bad_request' } })
  expect((answer.body.errors as string[]).length).toBeGreaterThanOrEqual(4)
  expect((await operator.call('POST', 'activities', '{"title":')).status).toBe(400)
  expect((await operator.call('POST', 'activities', '[]')).status).toBe(400)
  expect((await operator.call('POST', 'activities', `"${'x'.repeat(70_000)}"`)).status).toBe(413)
  expect((await operator.call('POST', 'activities', newActivity({ title: 'a\u0000b' }))).status).toBe(400)
  expect((await operator.call('GET', 'activities/9007199254740993')).status).toBe(404)
  expect((await operator.call('GET', 'activities/4000000000')).status).toBe(404)
  expect((await operator.call('POST', 'rate', { pacePerSecond: -1 })).status).toBe(400)
})

test('a sale goes from draft to closed, sold out is told, and everything is audited', async () => {
  const { a, s } = await draft({ opensAt: Date.now() + 50_000 }) // preloaded at once, and a slow machine has time
  expect((await act(a, 'open')).status).toBe(409)
  expect(await stateOf(a)).toBeUndefined()
  const nodes = new Nodes(store)
  const beat = (revision: number) =>
    nodes.heartbeat({
      ...{ id: 'limiter-9', role: 'limiter', state: 'ready', address: 'x:1', statsAddress: '' },
      ...{ revision, digest: '', at: Date.now() },
    })
  await beat(0)
  await waitFor('the node is seen', () =>
    master
      .reign()
      ?.watch.list()
      .some(({ id }) => id === 'limiter-9'),
  )
  expect((await act(a, 'schedule')).status).toBe(200)
  await waitFor('preloading', async () => (await stateOf(a)) === 'preloading')
  await waitFor('a ledger', () => ledger.guards.read(a))
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(await stateOf(a)).toBe('preloading') // a live node has not seen it
  await beat(master.reign()?.publisher.lastRevision ?? 0)
  await waitFor('armed', async () => (await stateOf(a)) === 'armed', 10_000)
  expect((await act(a, 'reset')).status).toBe(403)
  expect((await act(a, 'reset', admin)).status).toBe(200)
  expect(await stateOf(a)).toBeUndefined()

  await nodes.remove('limiter-9')
  await operator.call('PATCH', `activities/${a}`, { opensAt: Date.now() + 500 })
  expect((await act(a, 'schedule')).status).toBe(200)
  await waitFor('open', async () => (await stateOf(a)) === 'open', 15_000)
  expect((await doc<ActivityDoc>(`activity:${a}`))?.stage).toBe('middle')
  const { opensAt } = (await doc<ActivityDoc>(`activity:${a}`)) ?? { opensAt: 0 }
  expect(Date.now()).toBeGreaterThanOrEqual(opensAt)
  expect((await act(a, 'reset', admin)).status).toBe(409)
  expect((await operator.call('DELETE', `activities/${a}`)).status).toBe(409)
  expect((await operator.call('PATCH', `activities/${a}/skus/${s}`, { stock: 9 })).status).toBe(409)
  expect((await operator.call('PATCH', `activities/${a}/skus/${s}`, { paused: true })).status).toBe(200)

  await sellAll(a, s)
  await waitFor('sold out', async () => (await doc<StatusDoc>(`status:${a}:${s}`))?.soldOut)
  const status = await doc<StatusDoc>(`status:${a}:${s}`)
  expect(status).toMatchObject({ free: 0, held: 0, sold: 2, soldOut: true })

  const added = { op: 'add', units: 3, reason: 'found more' }
  const key = { 'idempotency-key': 'restock-1' }
  expect((await operator.call('POST', `activities/${a}/skus/${s}/stock`, added, key)).body).toEqual({ stock: 5 })
  expect((await operator.call('POST', `activities/${a}/skus/${s}/stock`, added, key)).body).toEqual({ stock: 5 })
  await waitFor('on sale again', async () => (await doc<StatusDoc>(`status:${a}:${s}`))?.soldOut === false)
  expect((await db.definitions.getSku(a, s))?.stock).toBe(5)
  const below = { op: 'set', units: 1, reason: 'too few' }
  expect((await operator.call('POST', `activities/${a}/skus/${s}/stock`, below)).status).toBe(409)

  const { body } = await operator.call('GET', 'invariants')
  const rows = (body.skus as Record<string, unknown>[]).filter((row) => row.activityId === a)
  expect(rows).toMatchObject([{ skuId: s, stock: 5, sold: 2, free: 3, reservedTotal: 2, orders: 0, violations: [] }])
  expect(body.ok).toBe(true)

  expect((await act(a, 'close')).status).toBe(200)
  await waitFor('closed', async () => (await stateOf(a)) === 'closed')
  await waitFor('all layers are shut', async () => (await doc<ActivityDoc>(`activity:${a}`))?.stage === 'shut')
  await waitFor('stored', async () => (await db.definitions.getActivity(a))?.state === 'closed')
  const audit = await operator.call('GET', `audit?subject=activity:${a}`)
  const actions = (audit.body.entries as { action: string; actor: string }[]).map(({ action }) => action)
  for (const action of ['create', 'schedule', 'preload', 'arm', 'open', 'reset', 'close'])
    expect(actions).toContain(`activity.${action}`)
})

async function sellAll(a: number, s: number): Promise<void> {
  const expiresAt = Date.now() + 60_000
  const tokens = ['1', '2'].map((digit) => digit.repeat(32))
  const batch = tokens.map((tokenId, index) => ({ tokenId, uid: index + 1, skuId: s, quantity: 1, expiresAt }))
  const replies = await ledger.reserve(a, batch)
  expect(replies.map(({ outcome }) => outcome)).toEqual([1, 1])
  await ledger.confirm(
    a,
    tokens.map((token) => `o${token}`),
  )
}

test('a large change of stock needs a second person', async () => {
  const { a, s } = await draft()
  const change = { op: 'add', units: 500, reason: 'a whole truck' }
  const asked = await operator.call('POST', `activities/${a}/skus/${s}/stock`, change)
  expect(asked.status).toBe(202)
  const confirm = (who: Operator) => who.call('POST', `confirmations/${asked.body.confirmId}`)
  expect((await confirm(operator)).status).toBe(403)
  expect(await confirm(second)).toMatchObject({ status: 200, body: { stock: 502 } })
  expect((await confirm(second)).status).toBe(404)
})

test('policies have versions that can be tried and taken back, and the rate is set for all', async () => {
  const { a, s } = await draft()
  expect((await operator.call('POST', 'rate', { pacePerSecond: 5 })).status).toBe(200)
  await operator.call('PATCH', `activities/${a}/skus/${s}`, { policy: { pacePerSecond: 7 } })
  const { body } = await operator.call('GET', `activities/${a}/skus/${s}/policies`)
  expect((body.versions as { version: number }[]).map(({ version }) => version)).toEqual([1, 2])
  const all = (await operator.call('GET', 'policies')).body.policies
  expect(all).toContainEqual(expect.objectContaining({ activityId: a, skuId: s }))
  const tried = await operator.call('POST', `activities/${a}/skus/${s}/policies/dry-run`, { taperAt: 0.5 })
  expect(tried.body).toMatchObject({ isAllowed: true, after: { policy: { pacePerSecond: 7, taperAt: 0.5 } } })
  const back = await operator.call('POST', `activities/${a}/skus/${s}/policies/rollback`, { version: 1 })
  expect(back.body).toMatchObject({ version: 3, policy: { pacePerSecond: null } })
})

test('an emptied Redis gets everything again, above every revision that the fronts have seen', async () => {
  const { a } = await draft({ opensAt: Date.now() + 300_000 })
  await act(a, 'schedule')
  await waitFor('published', async () => (await stateOf(a)) === 'scheduled')
  const before = await catalog.revision()

  await store.redis.flushall()
  await waitFor('published again', async () => (await stateOf(a)) === 'scheduled', 5_000)

  expect(await catalog.revision()).toBeGreaterThan(before)
  expect((await doc<SlotTableDoc>('slots'))?.owners).toHaveLength(1_024)
})

test('a restarted master goes on from the record, with the sessions and the revisions of before', async () => {
  const { a } = await draft({ opensAt: Date.now() + 300_000 })
  await act(a, 'schedule')
  await waitFor('published', async () => (await stateOf(a)) === 'scheduled')
  const before = await catalog.revision()

  await stopMaster()
  master = await startMaster()

  expect((await operator.call('GET', `activities/${a}`)).body.state).toBe('scheduled')
  expect(await catalog.revision()).toBeLessThanOrEqual(before + 2)
  expect((await doc<SlotTableDoc>('slots'))?.epoch).toBe(1)
})

test('the stream and the console are served', async () => {
  const answer = await fetch(`${origin}/admin/v1/stream`, { headers: { cookie: operator.cookie } })
  const reader = answer.body?.getReader()
  let first = ''
  while (!first.includes('data: ')) {
    const piece = await reader?.read()
    if (piece?.done !== false) throw new Error(`the stream ended (${answer.status}): ${first}`)
    first += new TextDecoder().decode(piece.value)
  }
  expect(answer.headers.get('content-type')).toBe('text/event-stream')
  expect(JSON.parse(first.slice(first.indexOf('data: ') + 6))).toHaveProperty('activities')
  await reader?.cancel()

  const page = await fetch(`${origin}/`)
  expect(page.status).toBe(200)
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
})

test('without PostgreSQL a sale opens in time, changes are answered 503, and it is stored when it is back', async () => {
  const { a } = await draft()
  await act(a, 'schedule')
  await waitFor('armed', async () => (await stateOf(a)) === 'armed', 4_000)
  const { dir, port } = postgres
  await postgres.kill()

  await waitFor('open', async () => (await stateOf(a)) === 'open', 15_000)
  expect((await act(a, 'pause')).status).toBe(503)

  postgres = await startPostgres({ dir, port })
  await waitFor('stored', async () => (await db.definitions.getActivity(a).catch(() => undefined))?.state === 'open')
  await waitFor('audited', async () => {
    const { entries } = (await operator.call('GET', `audit?subject=activity:${a}`)).body
    return (entries as { action: string }[] | undefined)?.some(({ action }) => action === 'activity.open')
  })
})

test('failed logins are bounded', async () => {
  const stranger = new Operator()
  let last = 0
  for (let tries = 0; tries < 12; tries++) last = (await stranger.login('operator', 'guess')).status
  expect(last).toBe(429)
})

test('without Redis changes are answered 503, and master lives on', async () => {
  await redis.stop()
  await waitFor('redis is lost', () => !store.ready())
  await waitFor('nobody leads', () => master.reign() === undefined)
  expect((await operator.call('POST', 'activities', newActivity())).status).toBe(503)
  expect((await operator.call('GET', 'activities')).status).toBe(503)
  expect((await fetch(`${origin}/`)).status).toBe(200)
})
