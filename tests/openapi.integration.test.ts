/** The admin API against docs/openapi.yaml: every operation is called on a running master, and every answer is checked. */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../packages/testkit/src/index.ts'
import { type AdminRig, type Operator, startAdminRig } from '../services/master/src/test-support/admin-rig.ts'
import { ApiDocument } from './openapi.ts'

const api = new ApiDocument()
const isAdmin = ({ path }: { path: string }) => path.startsWith('/admin/v1/')
/** A hijacked answer: it is read by the test of the stream. */
const STREAM = 'GET /admin/v1/stream'
const sku = { title: 'Phone', priceCents: 100, currency: 'EUR', stock: 5, limitPerBuyer: 1 }
const rule = { name: 'few left', when: 'sku.free < 2', actions: [{ type: 'alert' }], clearSeconds: 0 }
const faults: string[] = []
let rig: AdminRig
let admin: Operator
let a: number
let s: number

beforeAll(async () => {
  api.compileAll() // it takes a second, in which a leader would lose its lease
  rig = await startAdminRig({ warehouse: 'off', confirmUnits: 100 })
  admin = await signedIn('admin')
}, 120_000)

afterAll(() => rig?.stop())

async function signedIn(name: 'admin' | 'operator' | 'viewer'): Promise<Operator> {
  const somebody = await rig.signedIn(name)
  somebody.onAnswer = (method, path, seen) => void faults.push(...api.check(method, path, seen))
  return somebody
}

/** A call whose answer is wanted; all others are checked against the document only. */
async function wanted(status: number, method: string, path: string, body?: unknown, headers = {}) {
  const answer = await admin.call(method, path, body, headers)
  expect([method, path, answer.status, answer.body.detail ?? answer.body.errors]).toEqual([
    method,
    path,
    status,
    answer.body.detail ?? answer.body.errors,
  ])
  return answer.body
}

test('every operation of the document is a route of master', () => {
  const app = rig.master.reign()?.app
  for (const { method, path } of api.operations.filter(isAdmin)) {
    const url = path.replace(/\{(\w+)\}/g, ':$1')
    expect([method, url, app?.hasRoute({ method, url })]).toEqual([method, url, true])
  }
})

test('every route of master is an operation of the document', () => {
  const routes = rig.master.reign()?.app.printRoutes({ commonPrefix: false }) ?? ''
  for (const [method, path] of routesOf(routes)) {
    if (method !== 'HEAD') expect([method, path, api.find(method, path) !== undefined]).toEqual([method, path, true])
  }
  expect(routesOf(routes).length).toBeGreaterThan(40)
})

test('definitions, stock, policies and rate answer as they are described', async () => {
  const times = { opensAt: Date.now() + 300_000, closesAt: Date.now() + 600_000 }
  await wanted(200, 'GET', 'session')
  await wanted(200, 'GET', 'operators')
  a = Number((await wanted(201, 'POST', 'activities', { title: 'x', rule: 'unlimited', ...times })).id)
  await wanted(200, 'PATCH', `activities/${a}`, { title: 'y' })
  await wanted(200, 'GET', `activities/${a}/versions`)
  await wanted(200, 'POST', `activities/${a}/rollback`, { version: 1 })
  const policyPlan = [{ when: { freeTo: 2 }, policy: { pacePerSecond: 1 } }]
  s = Number((await wanted(201, 'POST', `activities/${a}/skus`, { ...sku, policyPlan })).id)
  const path = `activities/${a}/skus/${s}`
  await wanted(200, 'PATCH', path, { title: 'z' })
  for (const read of ['activities', `activities/${a}`, `activities/${a}/skus`, path, 'policies', `${path}/policies`])
    await wanted(200, 'GET', read)
  await wanted(200, 'POST', `${path}/stock`, { op: 'add', units: 5, reason: 'found' })
  const { confirmId } = await wanted(202, 'POST', `${path}/stock`, { op: 'add', units: 500, reason: 'a truck' })
  const operator = await signedIn('operator')
  expect((await operator.call('POST', `confirmations/${confirmId}`)).status).toBe(200)
  await wanted(201, 'POST', `${path}/policies`, { pacePerSecond: 3 })
  await wanted(200, 'POST', `${path}/policies/dry-run`, { pacePerSecond: 4 })
  await wanted(200, 'POST', `${path}/policies/rollback`, { version: 1 })
  await wanted(200, 'POST', 'rate', { pacePerSecond: 9, activityId: a })
  await wanted(200, 'POST', `activities/${a}/actions/schedule`)
  await wanted(409, 'POST', `activities/${a}/actions/open`)
})

test('what is watched answers as it is described', async () => {
  await wanted(503, 'GET', 'figures')
  const limiter = { id: 'limiter-1', role: 'limiter', labels: {}, figures: { askRate: 12.5, budgetShare: 1 } }
  rig.tick({ nodes: [limiter] })
  for (const path of ['invariants', 'nodes', 'figures', 'audit?limit=5', 'alerts', 'pending', 'rules'])
    await wanted(200, 'GET', path)
  const answer = await fetch(`${rig.origin}/admin/v1/stream`, { headers: { cookie: admin.cookie } })
  expect(answer.headers.get('content-type')).toBe('text/event-stream')
  await answer.body?.cancel()
})

test('rules, alerts and questions answer as they are described', async () => {
  const { id } = await wanted(201, 'POST', 'rules', { ...rule, actions: [{ type: 'rate', factor: 0.5 }] })
  await wanted(200, 'GET', `rules/${id}`)
  await wanted(200, 'PATCH', `rules/${id}`, { severity: 'info' })
  const tick = (free: number) =>
    rig.tick({ skus: [{ activityId: a, skuId: s, state: 'releasing', figures: { free, grantRate: 10 } }] })
  const asked = () =>
    waitFor('it asks', async () => {
      const { pending } = (await admin.call('GET', 'pending')).body as { pending: { id: string }[] }
      return pending[0]?.id
    })
  tick(1)
  await wanted(200, 'POST', 'rules/dry-run', rule)
  await wanted(200, 'POST', `rules/${id}/dry-run`, { when: 'sku.nothing > 1' })
  await wanted(200, 'POST', `pending/${await asked()}/yes`)
  const other = await wanted(201, 'POST', 'rules', { ...rule, name: 'other', actions: [{ type: 'pause-sku' }] })
  tick(1)
  await wanted(200, 'POST', `pending/${await asked()}/no`)
  const key = `rule:${id}:sku:${a}:${s}`
  await wanted(200, 'POST', `alerts/${key}/acknowledge`)
  await wanted(200, 'POST', `alerts/${key}/silence`, { seconds: 5 })
  tick(9)
  await waitFor('it is over', () => rig.master.reign()?.alarms.get(key)?.state === 'cleared')
  await wanted(200, 'GET', 'alerts')
  for (const gone of [id, other.id]) await wanted(204, 'DELETE', `rules/${gone}`)
})

test('verdicts, and the documents by which they are given, answer as they are described', async () => {
  await wanted(201, 'POST', 'verdicts', { subject: 'uid:7', tier: 5, reason: 'resells', minutes: 60 })
  await wanted(201, 'POST', 'verdicts', { subject: 'ip:10.0.0.1', tier: 2, reason: 'noisy', minutes: 1 })
  for (const read of ['verdicts', 'verdicts?kind=uid&tier=5&limit=10', 'verdicts/uid:7', 'verdicts/device:1f'])
    await wanted(200, 'GET', read)
  await wanted(200, 'POST', 'verdicts/uid:7/lift', { reason: 'a regular' })
  await wanted(200, 'DELETE', 'verdicts/ip:10.0.0.1')
  await wanted(404, 'DELETE', 'verdicts/ip:10.0.0.1')
  for (const path of ['abuse/rules', 'abuse/model']) {
    await wanted(200, 'GET', path)
    await wanted(200, 'POST', `${path}/dry-run`, { isShadow: 'perhaps' })
    await wanted(400, 'PUT', path, { isShadow: 'perhaps', rules: 7 })
    await wanted(200, 'DELETE', path)
    await wanted(200, 'GET', `${path}/versions`)
    await wanted(404, 'POST', `${path}/rollback`, { version: 99 })
  }
  await wanted(200, 'PUT', 'abuse/rules', { isShadow: true })
  await wanted(200, 'GET', 'abuse/rules')
})

test('tools answer as they are described', async () => {
  await wanted(200, 'POST', `activities/${a}/reservations`, '1\nx\n2\n', { 'content-type': 'text/csv' })
  await wanted(200, 'GET', `activities/${a}/reservations`)
  await wanted(503, 'POST', 'middle/records/clear', { activityId: a })
})

test('deletions and the end of a session answer as they are described', async () => {
  const times = { opensAt: Date.now() + 300_000, closesAt: Date.now() + 600_000 }
  const gone = (await wanted(201, 'POST', 'activities', { title: 'x', rule: 'unlimited', ...times })).id
  const product = (await wanted(201, 'POST', `activities/${gone}/skus`, sku)).id
  await wanted(204, 'DELETE', `activities/${gone}/skus/${product}`)
  await wanted(204, 'DELETE', `activities/${gone}`)
  const leaving = await signedIn('operator')
  expect((await leaving.call('POST', 'logout')).status).toBe(204)
  await leaving.call('POST', 'login', { name: 'operator', password: 'the word of operator' })
})

test('rubbish and strangers are answered as it is described', async () => {
  const [viewer, stranger] = [await signedIn('viewer'), await signedIn('viewer')]
  stranger.cookie = ''
  for (const { method, path } of api.operations.filter(isAdmin)) {
    if (`${method} ${path}` === STREAM || /log(in|out)$/.test(path)) continue
    const url = path
      .replace('/admin/v1/', '')
      .replace('{action}', 'close')
      .replace(/\{\w+\}/g, '99999')
    const isChange = method !== 'GET'
    const type = path.endsWith('/reservations') && isChange ? { 'content-type': 'text/csv' } : {}
    await stranger.call(method, url, isChange ? '{}' : undefined, type)
    await viewer.call(method, url, isChange ? '{}' : undefined, type)
    await admin.call(method, url, isChange ? '{' : undefined, type)
  }
  expect(faults).toEqual([])
})

test('every operation was called, and no answer was another than described', () => {
  expect(faults).toEqual([])
  expect(api.unseen(isAdmin)).toEqual([STREAM])
})

/** Fastify draws its routes as a tree: the depth of a line is the length of what stands before its name. */
function routesOf(drawn: string): [string, string][] {
  const stack: string[] = []
  return drawn.split('\n').flatMap((line): [string, string][] => {
    const [, indent = '', part = '', methods] = /^([│├└─\s]*)(\S+)(?: \(([A-Z, ]+)\))?/.exec(line) ?? []
    if (part === '') return []
    const depth = Math.round(indent.length / 4)
    stack.length = Math.max(0, depth - 1)
    stack.push(part)
    const path = stack.join('')
    return (methods ?? '').split(', ').flatMap((method) => (method === '' ? [] : [[method, path]]))
  })
}
