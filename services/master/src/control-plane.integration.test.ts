/** Master, two routers and fronts of every role, over real sockets: layers, commands, trials. */

import { createFront, type Front } from '@bigtap/catalog'
import { createDb, type Db } from '@bigtap/db'
import { type ActivityDoc, activityKey, skuKey } from '@bigtap/domain'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import { type Ack, decodeCommandBatch, encodeAck, KIND } from '@bigtap/protocol'
import { CatalogStore, connectStore, heartbeatLoop, Ledger, Nodes, Reservations, type Store } from '@bigtap/store'
import { type Engine, SeededRandom, startPostgres, startRedis, waitFor } from '@bigtap/testkit'
import { createDialer, type Dialer } from '@bigtap/transport'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Router } from '../../mdw-router/src/router.ts'
import { createMaster } from './master.ts'

const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const shared = { clock, random: new SeededRandom(5), logger: nullLogger, metrics: nullMetrics }
const clusterSecret = 'a secret of the links'
let redis: Engine
let postgres: Engine
let db: Db
let store: Store
let routers: Router[] = []
let addresses: string[] = []
let fronts: Front[] = []
let master: ReturnType<typeof createMaster>
let call: (method: string, path: string, body?: unknown) => Promise<{ status: number; body: Record<string, unknown> }>

beforeAll(async () => {
  ;[redis, postgres] = await Promise.all([startRedis(), startPostgres()])
  db = createDb({ url: postgres.url, connectMs: 500 })
  store = connectStore({ url: redis.url, commandMsMax: 1_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
  const settings = { host: '127.0.0.1', port: 0, clusterSecret, linksMax: 64 }
  routers = ['router-1', 'router-2'].map((nodeId) => new Router({ ...settings, nodeId }, shared))
  addresses = (await Promise.all(routers.map((router) => router.start()))).map(({ port }) => `127.0.0.1:${port}`)
  fronts = await Promise.all(
    ['limiter-1', 'limiter-2', 'middle-1', 'middle-2', 'cart-1', 'counter-1'].map(async (nodeId, index) => {
      const role = nodeId.split('-')[0] ?? ''
      const at = { host: '127.0.0.1', address: '', port: 9_000 + index }
      const front = createFront({
        ...{ ...shared, store, service: role, role, settings: { nodeId, clusterSecret, routers: addresses, ...at } },
      })
      for (const part of [...front.parts, front.heartbeat]) await part.start()
      return front
    }),
  )
  master = createMaster(
    {
      ...{ nodeId: 'master-1', host: '127.0.0.1', address: '', port: 0, databaseUrl: postgres.url, clusterSecret },
      ...{ tokenSecret: 'tokens', routers: addresses, operatorPassword: 'operator', operators: undefined },
      ...{ adminPassword: 'admin', warehouse: 'off', warehouseToken: undefined, alertWebhook: undefined },
      ...{ preloadMs: 60_000, confirmUnits: 100, consoleDir: undefined },
    },
    {
      ...{ ...shared, db, store, ledger: new Ledger(store), catalog: new CatalogStore(store), nodes: new Nodes(store) },
      reservations: new Reservations(store),
    },
  )
  for (const part of master.parts) await part.start?.()
  await waitFor('the routers are linked', () => master.reign()?.links.ready === 2)
  await waitFor(
    'all fronts are linked',
    () =>
      reign()
        .watch.list()
        .filter(({ isLinked }) => isLinked).length === 6,
  )
  call = await signIn()
}, 120_000)

afterAll(async () => {
  for (const part of [...(master?.parts ?? [])].reverse()) await part.stop?.()
  for (const front of fronts) for (const part of [front.heartbeat, ...[...front.parts].reverse()]) await part.stop()
  await Promise.all(routers.map((router) => router.stop()))
  await store?.close()
  await db?.close()
  await Promise.all([redis?.stop(), postgres?.stop()])
})

function reign() {
  const found = master.reign()
  if (found === undefined) throw new Error('nobody leads')
  return found
}

/** Limiters that have a share of the budgets, by what every front knows. */
function sharers(): string[] {
  const known = fronts.map(({ mirror }) => mirror.shares()?.shares.map(({ nodeId }) => nodeId) ?? [])
  return known[0]?.filter((nodeId) => known.every((ids) => ids.includes(nodeId))) ?? []
}

function sharedAt(): number | undefined {
  return reign().shares.published?.at
}

async function signIn() {
  const origin = `http://127.0.0.1:${master.server.port()}/admin/v1/`
  const json = { 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'admin', password: 'admin' })
  const login = await fetch(`${origin}login`, { method: 'POST', headers: json, body })
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  const { csrf } = (await login.json()) as { csrf: string }
  return async (method: string, path: string, sent?: unknown) => {
    const reply = await fetch(`${origin}${path}`, {
      method,
      headers: { cookie, 'x-csrf-token': csrf, ...(sent === undefined ? {} : json) },
      ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
    })
    const text = await reply.text()
    return { status: reply.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> }
  }
}

async function draft(more: Partial<ActivityDoc> = {}): Promise<{ a: number; s: number }> {
  const times = { opensAt: Date.now() + 300_000, closesAt: Date.now() + 600_000 }
  const a = (await call('POST', 'activities', { title: 'Launch', rule: 'unlimited', ...times, ...more })).body.id
  const sku = { title: 'Phone', priceCents: 1, currency: 'EUR', stock: 20, limitPerBuyer: 1 }
  const s = (await call('POST', `activities/${a}/skus`, sku)).body.id
  return { a: Number(a), s: Number(s) }
}

test('a sale goes from scheduled to closed by itself, its layers from the inside out and back', async () => {
  const { a } = await draft({ opensAt: Date.now() + 2_000 })
  const stages: string[] = []
  const [limiter] = fronts
  limiter?.mirror.onChange((keys) => {
    const doc = keys.includes(activityKey(a)) ? limiter.mirror.activity(a) : undefined
    if (doc !== undefined) stages.push(`${doc.state}/${doc.stage}`)
  })

  expect((await call('POST', `activities/${a}/actions/schedule`)).status).toBe(200)
  await waitFor('open', () => stages.includes('open/middle'))
  expect((await call('PATCH', `activities/${a}`, { closesAt: Date.now() + 500 })).status).toBe(200)
  await waitFor('shut', () => stages.includes('closed/shut'))

  // A slow limiter may see two steps at once, and never one back.
  const steps = [
    ...['scheduled/shut', 'preloading/shut', 'preloading/counter', 'preloading/cart', 'preloading/middle'],
    ...['armed/middle', 'open/middle', 'closed/middle', 'closed/cart', 'closed/counter', 'closed/shut'],
  ]
  const places = stages.map((one) => steps.indexOf(one))
  expect(places).not.toContain(-1)
  expect(places).toEqual([...places].sort((x, y) => x - y))
})

test('a change is tried by one limiter and one Middle node, and then it is everywhere', async () => {
  const { a, s } = await draft()
  await call('POST', `activities/${a}/actions/schedule`)
  expect((await call('PATCH', `activities/${a}/skus/${s}`, { policy: { pacePerSecond: 7 } })).status).toBe(200)
  const paceAt = ({ mirror }: Front) => mirror.sku(a, s)?.policy.pacePerSecond
  await waitFor('everywhere', () => fronts.every((front) => paceAt(front) === 7))
  await waitFor('acked', () =>
    reign()
      .watch.list()
      .every((node) => node.role === 'master' || node.revision >= reign().publisher.lastRevision),
  )
  const firing = () =>
    reign()
      .alarms.list()
      .filter(({ key, state }) => state === 'firing' && key !== 'figures')
  await waitFor('nothing is wrong', () => firing().length === 0)
})

test('access limits change while the sale is open: every limiter has them, and a share of what they share', async () => {
  const limit = { scope: 'global', algorithm: 'token-bucket', seconds: 1, maxCount: 100 }
  const { a } = await draft({ opensAt: Date.now() + 500 })
  await call('POST', `activities/${a}/actions/schedule`)
  const limiters = fronts.slice(0, 2)
  await waitFor('open', () => limiters.every(({ mirror }) => mirror.activity(a)?.state === 'open'))

  expect((await call('PATCH', `activities/${a}`, { accessLimits: [limit] })).status).toBe(200)
  await waitFor('the limit is everywhere', () =>
    limiters.every(({ mirror }) => mirror.activity(a)?.accessLimits[0]?.maxCount === 100),
  )
  await waitFor('the shares are everywhere', () =>
    limiters.every(({ mirror }) => (mirror.shares()?.shares.length ?? 0) >= 2 && mirror.shares()?.at === sharedAt()),
  )
  const bad = await call('PATCH', `activities/${a}`, { accessLimits: [{ ...limit, maxCount: 0 }] })
  expect(bad).toMatchObject({ status: 400 })
  expect(await call('PATCH', `activities/${a}`, { accessLimits: [] })).toMatchObject({ status: 200 })
  await waitFor('it is gone', () => limiters.every(({ mirror }) => mirror.activity(a)?.accessLimits.length === 0))
  await call('PATCH', `activities/${a}`, { closesAt: Date.now() + 200 })
})

test('what a canary refuses is not published, its other canary gets the old document back, and the operator is told', async () => {
  const { a, s } = await draft()
  await call('POST', `activities/${a}/actions/schedule`)
  const key = skuKey(a, s)
  const stop = await startStubborn('limiter-0', key)
  await waitFor('it is there', () =>
    reign()
      .watch.list()
      .some(({ id, isLinked }) => id === 'limiter-0' && isLinked),
  )
  await waitFor('it has a share', () => sharers().includes('limiter-0'))
  const before = reign().publisher.lastRevision

  const answer = await call('PATCH', `activities/${a}/skus/${s}`, { policy: { pacePerSecond: 9 } })

  expect(answer).toMatchObject({ status: 422, body: { code: 'gate_failed' } })
  expect(String(answer.body.detail)).toContain('limiter-0 refused')
  expect((await call('GET', `activities/${a}/skus/${s}`)).body.policy).toMatchObject({ pacePerSecond: null })
  await waitFor('undone', () => fronts.every(({ mirror }) => mirror.sku(a, s)?.policy.pacePerSecond === null))
  expect(reign().publisher.lastRevision).toBe(before)
  expect(reign().alarms.get('gate')).toMatchObject({ state: 'firing' })
  const { entries } = (await call('GET', `audit?subject=${key}`)).body as { entries: { action: string }[] }
  expect(entries.map(({ action }) => action)).toContain('gate.failed')

  const forced = await call('PATCH', `activities/${a}/skus/${s}?force=true`, { policy: { pacePerSecond: 9 } })
  expect(forced.status).toBe(200)
  await stop()
  await waitFor('its share goes back', () => !sharers().includes('limiter-0'))
})

test('what no sale can mean is refused before it is tried', async () => {
  const { a } = await draft()
  const year = 400 * 86_400_000
  const answer = await call('PATCH', `activities/${a}`, { opensAt: Date.now() + year, closesAt: Date.now() + year + 1 })
  expect(answer).toMatchObject({ status: 400, body: { code: 'bad_request' } })
})

test('an activity goes back to an earlier version of its fields', async () => {
  const { a } = await draft()
  const limit = { scope: 'uid', algorithm: 'token-bucket', seconds: 1, maxCount: 2 }
  await call('PATCH', `activities/${a}`, { accessLimits: [limit] })
  const { versions } = (await call('GET', `activities/${a}/versions`)).body as { versions: { version: number }[] }
  expect(versions.map(({ version }) => version)).toEqual([1, 2])

  const back = await call('POST', `activities/${a}/rollback`, { version: 1 })

  expect(back).toMatchObject({ status: 200, body: { accessLimits: [] } })
  expect((await call('POST', `activities/${a}/rollback`, { version: 9 })).status).toBe(404)
})

test('a router that was lost is linked again and misses nothing', async () => {
  const { a } = await draft()
  await routers[0]?.stop()
  await call('POST', `activities/${a}/actions/schedule`)
  await waitFor('known by the other router', () => fronts.every(({ mirror }) => mirror.activity(a) !== undefined))
})

/** A limiter of another version: it takes everything but one document. */
async function startStubborn(nodeId: string, refusedKey: string): Promise<() => Promise<void>> {
  const dialers: Dialer[] = addresses.map((address) =>
    createDialer(
      { address, nodeId, role: 'limiter', clusterSecret },
      {
        ...shared,
        onFrame: (link, kind, correlation, body) => {
          if (kind !== KIND.command) return
          const { epoch, upTo, head, commands } = decodeCommandBatch(body)
          const refused = commands
            .filter(({ key, isDeleted }) => key === refusedKey && !isDeleted)
            .map(({ key, revision }) => ({ key, revision, error: 'policy is not known here' }))
          const ahead = commands.map(({ sequence }) => sequence).filter((sequence) => sequence > upTo)
          const ack: Ack = { epoch, upTo, revision: head, digest: '', eventLoopMs: 1, refused, ahead }
          link.send(KIND.ack, correlation, encodeAck(ack))
        },
      },
    ),
  )
  for (const dialer of dialers) dialer.start()
  const beat = heartbeatLoop(new Nodes(store), () => ({
    ...{ id: nodeId, role: 'limiter', state: 'ready', address: '127.0.0.1:9', statsAddress: '' },
    ...{ revision: 0, digest: '', at: Date.now() },
  }))
  beat.start()
  return async () => {
    beat.stop()
    await Promise.all(dialers.map((dialer) => dialer.stop()))
  }
}
