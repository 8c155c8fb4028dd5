import type { SkuDoc, StatusDoc } from '@bigtap/domain'
import { waitFor } from '@bigtap/testkit'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AdminRig, type Operator, startAdminRig } from './test-support/admin-rig.ts'

let rig: AdminRig
let operator: Operator
let admin: Operator
let viewer: Operator
let warehouse: pg.Client

beforeAll(async () => {
  rig = await startAdminRig()
  operator = await rig.signedIn('operator')
  admin = await rig.signedIn('admin')
  viewer = await rig.signedIn('viewer')
  warehouse = new pg.Client({ connectionString: rig.postgres.url })
  await warehouse.connect()
}, 120_000)

afterAll(async () => {
  await warehouse?.end()
  await rig?.stop()
})

const sku = { title: 'Phone', priceCents: 100, currency: 'EUR', stock: 2, limitPerBuyer: 1 }

async function draft(more: Record<string, unknown> = {}): Promise<{ a: number; s: number }> {
  const times = { opensAt: Date.now() + 500, closesAt: Date.now() + 600_000 }
  const a = Number((await operator.call('POST', 'activities', { title: 'x', rule: 'unlimited', ...times })).body.id)
  const s = Number((await operator.call('POST', `activities/${a}/skus`, { ...sku, ...more })).body.id)
  return { a, s }
}

async function opened(more: Record<string, unknown> = {}): Promise<{ a: number; s: number }> {
  const made = await draft(more)
  expect((await operator.call('POST', `activities/${made.a}/actions/schedule`)).status).toBe(200)
  const stateOf = async () => (await rig.doc<{ state: string }>(`activity:${made.a}`))?.state
  await waitFor('open', async () => (await stateOf()) === 'open', 15_000)
  return made
}

let tokens = 0
async function hold(a: number, s: number, count: number): Promise<void> {
  const batch = Array.from({ length: count }, () => {
    const tokenId = (++tokens).toString(16).padStart(32, '0')
    return { tokenId, uid: tokens, skuId: s, quantity: 1, expiresAt: Date.now() + 60_000 }
  })
  const replies = await rig.ledger.reserve(a, batch)
  expect(replies.map(({ outcome }) => outcome)).toEqual(batch.map(() => 1))
}

const statusOf = (a: number, s: number) => rig.doc<StatusDoc>(`status:${a}:${s}`)
const policyOf = async (a: number, s: number) => (await rig.doc<SkuDoc>(`sku:${a}:${s}`))?.policy
const actionsOf = async (subject: string) => (await rig.db.audit.list({ subject })).map(({ action }) => action)

describe('stock keeper', () => {
  test('units that the warehouse adds while sold out are on sale again, and what was sold is reported', async () => {
    const { a, s } = await opened()
    const rows = () => warehouse.query('SELECT * FROM warehouse_stock WHERE activity_id = $1', [a])
    await waitFor('the warehouse knows it', async () => (await rows()).rows[0]?.units === 2)
    await hold(a, s, 2)
    await waitFor('exhausted', async () => (await statusOf(a, s))?.exhausted)

    await warehouse.query('UPDATE warehouse_stock SET units = units + 3 WHERE activity_id = $1', [a])
    await waitFor('on sale again', async () => (await statusOf(a, s))?.exhausted === false)

    expect((await rig.ledger.figures(a)).get(s)).toMatchObject({ stock: 5, free: 3, held: 2 })
    await waitFor('the record follows', async () => (await rig.db.definitions.getSku(a, s))?.stock === 5)
    await waitFor('the warehouse is told', async () => (await rows()).rows[0]?.held === 2)
    await waitFor('it is audited', async () => (await actionsOf(`sku:${a}:${s}`)).includes('stock.warehouse'))
  })

  test("an operator's change goes to the warehouse, and a shortage raises an alarm", async () => {
    const { a, s } = await opened()
    const units = async () => (await rig.db.warehouse.list([a]))[0]?.units
    await waitFor('entered', async () => (await units()) === 2)
    const added = { op: 'add', units: 5, reason: 'found' }
    expect((await operator.call('POST', `activities/${a}/skus/${s}/stock`, added)).body).toEqual({ stock: 7 })
    await waitFor('the warehouse has it', async () => (await units()) === 7)
    await hold(a, s, 4)
    await warehouse.query('UPDATE warehouse_stock SET units = 1 WHERE activity_id = $1', [a])
    const key = `stock-short:${a}:${s}`
    await waitFor('an alarm', async () => {
      const { alerts } = (await viewer.call('GET', 'alerts?state=firing')).body
      return (alerts as { key: string }[]).some((one) => one.key === key)
    })
    expect((await rig.ledger.figures(a)).get(s)).toMatchObject({ stock: 4, free: 0, held: 4 })
  })
})

describe('policy keeper', () => {
  test('the plan changes the pace by free units, in one revision, and a new leader keeps it', async () => {
    const policyPlan = [
      { when: { freeTo: 2 }, policy: { pacePerSecond: 1 } },
      { when: { fromSeconds: 0 }, policy: { pacePerSecond: 50 } },
    ]
    const { a, s } = await opened({ stock: 3, policy: { pacePerSecond: 7 }, policyPlan })
    await waitFor('the second trigger', async () => (await policyOf(a, s))?.pacePerSecond === 50)
    const revision = await rig.catalog.revision()
    await hold(a, s, 2)
    await waitFor('the first trigger', async () => (await policyOf(a, s))?.pacePerSecond === 1)
    const answered = (await viewer.call('GET', `activities/${a}/skus/${s}`)).body
    expect(answered).toMatchObject({
      trigger: 0,
      policyPlan,
      basePolicy: { pacePerSecond: 7 },
      policy: { pacePerSecond: 1 },
    })

    await rig.stopMaster()
    const seen: unknown[] = []
    await rig.start()
    for (const { key, revision: at, body } of await rig.catalog.readSince(revision))
      if (key === `sku:${a}:${s}`) seen.push(at, (body as SkuDoc).policy.pacePerSecond)
    expect(seen[1]).toBe(1)
    await waitFor('it is audited', async () => (await actionsOf(`sku:${a}:${s}`)).includes('policy.trigger'))
  })

  test('a bad plan is refused whole with the other errors, and the rate for all drops plans with paces', async () => {
    const { a, s } = await draft()
    const bad = { policyPlan: [{ when: { fromSeconds: 5, toSeconds: 1 }, policy: { overbook: 3 } }], priceCents: -1 }
    const refused = await operator.call('PATCH', `activities/${a}/skus/${s}`, bad)
    expect(refused.status).toBe(400)
    expect(refused.body.errors).toHaveLength(4)
    const policyPlan = [{ when: {}, policy: { pacePerSecond: 3 } }]
    expect((await operator.call('PATCH', `activities/${a}/skus/${s}`, { policyPlan })).status).toBe(200)
    const rate = await operator.call('POST', 'rate', { pacePerSecond: 9, activityId: a })
    expect(rate.body.skus).toEqual([{ activityId: a, skuId: s, pacePerSecond: 9, isPlanDropped: true }])
  })
})

describe('rules', () => {
  const few = { name: 'few left', when: 'sku.free < 2', actions: [{ type: 'alert' }], clearSeconds: 0 }
  const ticked = (a: number, s: number, free: number) =>
    rig.tick({ skus: [{ activityId: a, skuId: s, state: 'releasing', figures: { free, grantRate: 40 } }] })

  test('a rule is stored, tried, changed and deleted; rubbish is refused with every error', async () => {
    const made = await operator.call('POST', 'rules', { ...few, name: 'one' })
    expect(made).toMatchObject({ status: 201, body: { name: 'one', version: 1, needsYes: true } })
    const path = `rules/${made.body.id}`
    expect((await operator.call('POST', 'rules', { ...few, name: 'one' })).status).toBe(409)
    expect((await operator.call('PATCH', path, { severity: 'critical' })).body).toMatchObject({ version: 2 })
    expect((await operator.call('PATCH', path, { when: 'sku.free <' })).status).toBe(400)
    ticked(7, 3, 1)
    expect((await operator.call('POST', `${path}/dry-run`, {})).body).toMatchObject({
      tried: [{ subject: 'sku:7:3', holds: true, data: { 'sku.free': 1 } }],
    })
    for (const rubbish of [
      {},
      { name: 7 },
      { ...few, when: 'x'.repeat(501) },
      { ...few, actions: 'all' },
      '[]',
      '{"a"',
    ])
      expect((await operator.call('POST', 'rules', rubbish)).status).toBe(400)
    expect((await operator.call('GET', 'rules/0')).status).toBe(404)
    expect((await operator.call('DELETE', path)).status).toBe(204)
    expect((await operator.call('DELETE', path)).status).toBe(404)
    expect(await actionsOf(`rule:${made.body.id}`)).toEqual(['rule.delete', 'rule.patch', 'rule.create'])
  })

  test('an alert is raised, acknowledged, silenced and over', async () => {
    const { a, s } = await draft()
    const { id } = (await operator.call('POST', 'rules', few)).body
    ticked(a, s, 1)
    const key = `rule:${id}:sku:${a}:${s}`
    const alert = () => rig.master.reign()?.alarms.get(key)
    await waitFor('it fires', () => alert()?.state === 'firing')
    expect((await operator.call('POST', `alerts/${key}/acknowledge`)).body).toMatchObject({
      acknowledgedBy: 'operator',
    })
    const silenced = await operator.call('POST', `alerts/${key}/silence`, { seconds: 600 })
    expect(silenced.body.silencedUntil).toBeGreaterThan(Date.now() + 590_000)
    expect((await operator.call('POST', `alerts/${key}/silence`, { seconds: -1 })).status).toBe(400)
    expect((await operator.call('POST', 'alerts/nothing/acknowledge')).status).toBe(404)
    ticked(a, s, 5)
    await waitFor('it is over', () => alert()?.state === 'cleared')
    await operator.call('DELETE', `rules/${id}`)
  })

  test('an action waits for a yes, and is done as the operator who says it', async () => {
    const { a, s } = await draft()
    const actions = [{ type: 'rate', factor: 0.5 }, { type: 'pause-sku' }]
    const { id } = (await operator.call('POST', 'rules', { ...few, name: 'brake', actions })).body
    ticked(a, s, 1)
    const pending = async () => (await viewer.call('GET', 'pending')).body.pending as { id: string }[]
    const [one] = await waitFor('it asks', async () => ((await pending()).length > 0 ? pending() : false))
    expect((await viewer.call('POST', `pending/${one?.id}/yes`)).status).toBe(403)
    expect((await operator.call('POST', `pending/${one?.id}/yes`)).status).toBe(200)
    expect((await operator.call('POST', `pending/${one?.id}/no`)).status).toBe(404)
    // It has no pace, so half of the measured 40.
    const stored = await rig.db.definitions.getSku(a, s)
    expect([stored?.policy.pacePerSecond, stored?.paused]).toEqual([20, true])
    await operator.call('DELETE', `rules/${id}`)
  })

  test('only an admin lets a rule act alone', async () => {
    const { a, s } = await draft()
    const alone = { ...few, name: 'alone', needsYes: false, actions: [{ type: 'pause-sku' }] }
    expect((await operator.call('POST', 'rules', alone)).status).toBe(403)
    const { id } = (await admin.call('POST', 'rules', alone)).body
    expect((await operator.call('PATCH', `rules/${id}`, { enabled: false })).status).toBe(403)
    ticked(a, s, 1)
    await waitFor('it acts', async () => (await rig.db.definitions.getSku(a, s))?.paused)
    expect((await rig.db.audit.list({ subject: `sku:${a}:${s}` }))[0]).toMatchObject({ actor: 'rule: alone' })
    await admin.call('DELETE', `rules/${id}`)
  })

  test('the shipped rules are there, and one that was deleted does not come back', async () => {
    const rules = async () => (await viewer.call('GET', 'rules')).body.rules as { id: number; name: string }[]
    const silent = (await rules()).find(({ name }) => name === 'node silent')
    await operator.call('DELETE', `rules/${silent?.id}`)
    await rig.stopMaster()
    await rig.start()
    const names = (await rules()).map(({ name }) => name)
    expect(names).toContain('ledger in doubt')
    expect(names).not.toContain('node silent')
  })
})

describe('tools', () => {
  const seats = (a: number, body: string, type = 'text/csv', query = '') =>
    operator.call('POST', `activities/${a}/reservations${query}`, body, { 'content-type': type })
  const last = ({ body }: { body: Record<string, unknown> }) => {
    const lines = String(body.text).trim().split('\n')
    return JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown>
  }

  test('reservations are imported from CSV and NDJSON, bad lines are said, a repeat counts nobody twice', async () => {
    const { a } = await draft()
    const done = { state: 'done', activityId: a }
    const csv = 'uid,name\n11,Ann\nx,Bob\n12,Eve\n'
    expect(last(await seats(a, csv))).toMatchObject({ ...done, lines: 4, added: 2, bad: 1, badLines: [{ line: 3 }] })
    expect(last(await seats(a, csv))).toMatchObject({ ...done, added: 0, known: 2 })
    expect(last(await seats(a, '{"uid":13}\n14\n', 'application/x-ndjson'))).toMatchObject({ ...done, added: 2 })
    expect(last(await seats(a, '21\n22\n23\n', 'text/csv', '?skipLines=2'))).toMatchObject({ ...done, added: 1 })
    const { count, imports } = (await viewer.call('GET', `activities/${a}/reservations`)).body
    expect([count, (imports as unknown[]).length]).toEqual([5, 4])
    expect((await seats(a, '1', 'text/plain')).status).toBe(415)
    expect((await seats(999_999, '1')).status).toBe(404)
    expect((await seats(a, '1', 'text/csv', '?skipLines=x')).status).toBe(400)
    await waitFor('both ends are audited', async () => (await actionsOf(`activity:${a}`)).includes('reservations.done'))
    expect(await actionsOf(`activity:${a}`)).toContain('reservations.import')
  })

  test('an import that is cut off says how far it came, and a repeat goes on from there', async () => {
    const { a } = await draft()
    const uids = Array.from({ length: 30_000 }, (_, index) => `${index + 1}\n`)
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(uids.slice(0, 20_000).join('')))
        setTimeout(() => controller.error(new Error('the line is dead')), 500)
      },
    })
    const headers = { 'content-type': 'text/csv', cookie: operator.cookie, 'x-csrf-token': operator.csrf }
    const request: RequestInit & { duplex: 'half' } = { method: 'POST', body, headers, duplex: 'half' }
    await fetch(`${rig.origin}/admin/v1/activities/${a}/reservations`, request).catch(() => undefined)
    const imports = async () => (await viewer.call('GET', `activities/${a}/reservations`)).body.imports
    const [cut] = (await waitFor('it is over', async () => {
      const found = (await imports()) as { state: string; lines: number }[]
      return found[0]?.state === 'failed' ? found : false
    })) as { lines: number }[]
    expect(cut?.lines).toBeGreaterThan(0)
    const again = last(await seats(a, uids.join(''), 'text/csv', `?skipLines=${cut?.lines}`))
    expect(again).toMatchObject({ state: 'done', lines: 30_000 })
    expect(await rig.reservations.count(a)).toBe(30_000)
  })

  test('records are cleared by admins, and only while a router is linked', async () => {
    const { a } = await draft()
    expect((await operator.call('POST', 'middle/records/clear', { activityId: a })).status).toBe(403)
    expect((await admin.call('POST', 'middle/records/clear', { activityId: a })).status).toBe(503)
    expect((await admin.call('POST', 'middle/records/clear', { activityId: 'x', uid: 0 })).status).toBe(400)
    expect((await admin.call('POST', 'middle/records/clear', { activityId: 999_999 })).status).toBe(404)
  })
})

describe('roles', () => {
  test('a viewer changes nothing, and nobody does without the CSRF header', async () => {
    const { a, s } = await draft()
    const changes: [string, string][] = [
      ['POST', 'rules'],
      ['PATCH', 'rules/1'],
      ['DELETE', 'rules/1'],
      ['POST', 'rules/dry-run'],
      ['POST', 'alerts/x/silence'],
      ['POST', 'alerts/x/acknowledge'],
      ['POST', 'pending/x/yes'],
      ['POST', 'pending/x/no'],
      ['POST', 'middle/records/clear'],
      ['POST', 'rate'],
      ['POST', `activities/${a}/reservations`],
      ['POST', `activities/${a}/skus/${s}/stock`],
      ['POST', `activities/${a}/actions/schedule`],
      ['DELETE', `activities/${a}`],
    ]
    for (const [method, path] of changes) {
      const type = path.endsWith('reservations') ? { 'content-type': 'text/csv' } : {}
      const body = method === 'DELETE' ? undefined : '{}'
      expect([path, (await viewer.call(method, path, body, type)).status]).toEqual([path, 403])
      const forged = await admin.call(method, path, body, { ...type, 'x-csrf-token': 'guess' })
      expect([path, forged.status]).toEqual([path, 403])
      expect([path, (await admin.call(method, path, body, { ...type, cookie: '' })).status]).toEqual([path, 401])
    }
    for (const path of ['rules', 'alerts', 'pending', 'nodes', 'audit', `activities/${a}/reservations`])
      expect([path, (await viewer.call('GET', path)).status]).toEqual([path, 200])
  })

  test('only an admin resets, forces and sees who may sign in', async () => {
    const { a } = await draft()
    for (const path of ['reset', 'open?force=true'])
      expect((await operator.call('POST', `activities/${a}/actions/${path}`)).status).toBe(403)
    expect((await admin.call('POST', `activities/${a}/actions/reset`)).status).not.toBe(403)
    expect((await operator.call('GET', 'operators')).status).toBe(403)
    expect((await admin.call('GET', 'operators')).body.operators).toEqual([
      { name: 'operator', role: 'operator' },
      { name: 'admin', role: 'admin' },
      { name: 'viewer', role: 'viewer' },
    ])
  })

  test('the audit is searched, and rubbish in the search is refused', async () => {
    await draft()
    const found = async (query: string) =>
      (await viewer.call('GET', `audit?${query}`)).body.entries as { actor: string }[]
    expect((await found('actor=operator&action=activity.create&limit=1')).length).toBe(1)
    expect(await found('actor=nobody')).toEqual([])
    expect(await found(`from=${Date.now() + 60_000}`)).toEqual([])
    for (const bad of ['from=x', 'limit=-1', 'actor=a&actor=b', `subject=${'x'.repeat(201)}`])
      expect((await viewer.call('GET', `audit?${bad}`)).status).toBe(400)
  })
})
