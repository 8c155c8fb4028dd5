import { DEFAULT_POLICY, DEFAULT_WAITING, NO_CHALLENGE } from '@bigtap/domain'
import { type Engine, FakeClock, startPostgres } from '@bigtap/testkit'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDb, type Db, migrate, type NewActivity, type NewSku } from './index.ts'

const clock = new FakeClock()
let postgres: Engine
let db: Db
let warehouse: pg.Client

beforeAll(async () => {
  postgres = await startPostgres()
  await migrate(postgres.url)
  db = createDb({ url: postgres.url }, { clock })
  warehouse = new pg.Client({ connectionString: postgres.url })
  await warehouse.connect()
})

afterAll(async () => {
  await warehouse?.end()
  await db?.close()
  await postgres?.stop()
})

const activity: NewActivity = {
  ...{
    title: 'Launch',
    opensAt: 1_000,
    closesAt: 9_000,
    rule: 'unlimited',
    admission: 'direct',
    waiting: DEFAULT_WAITING,
    challenge: NO_CHALLENGE,
    accessLimits: [],
  },
  reservation: { required: false, opensAt: 0, closesAt: 0 },
} as unknown as NewActivity
const sku: NewSku = {
  ...{ title: 'Phone', priceCents: 100, currency: 'EUR', imageUrl: '', stock: 5, limitPerBuyer: 1, paused: false },
  policy: DEFAULT_POLICY,
}
const who = { actor: 'eve', role: 'admin' }

test('a change and its audit are stored together, and a change that was not made has none', async () => {
  const made = await db.definitions.createActivity(activity, ({ id }) => ({
    ...who,
    action: 'activity.create',
    subject: `activity:${id}`,
  }))
  const [subject, audit] = [`activity:${made.id}`, { ...who, action: 'activity.patch', subject: `activity:${made.id}` }]
  await db.definitions.patchActivity(made.id, { title: 'b' }, { states: ['open'] }, () => audit)
  await db.definitions.patchActivity(made.id, { title: 'c' }, {}, ({ title }) => ({ ...audit, after: { title } }))
  const fails = db.definitions.patchActivity(made.id, { title: 'd' }, {}, () => ({ ...audit, action: 'bad\0' }))
  await expect(fails).rejects.toThrow()

  expect((await db.definitions.getActivity(made.id))?.title).toBe('c')
  expect(await db.audit.list({ subject })).toMatchObject([
    { action: 'activity.patch', after: { title: 'c' } },
    { action: 'activity.create' },
  ])
})

test('a plan of a policy is kept with its SKU', async () => {
  const { id: a } = await db.definitions.createActivity(activity)
  const policyPlan = [{ when: { freeTo: 3 }, policy: { pacePerSecond: 1 } }]
  const made = await db.definitions.createSku(a, { ...sku, policyPlan })
  expect(made?.policyPlan).toEqual(policyPlan)
  expect((await db.definitions.createSku(a, sku))?.policyPlan).toEqual([])
  expect((await db.definitions.patchSku(a, made?.id ?? 0, { title: 'x' }))?.policyPlan).toEqual(policyPlan)
})

test('the audit is searched by who, what, about what and when', async () => {
  const start = clock.now()
  await db.audit.append({ ...who, actor: 'ann', action: 'stock.change', subject: 'sku:70:1' })
  clock.advance(1_000)
  await db.audit.append({ ...who, actor: 'bob', action: 'stock.change', subject: 'sku:70:2' })
  const actors = async (query: object) => (await db.audit.list({ subject: 'sku:70', ...query })).map((row) => row.actor)
  expect(await actors({})).toEqual(['bob', 'ann'])
  expect(await actors({ actor: 'ann', action: 'stock.change' })).toEqual(['ann'])
  expect(await actors({ from: start + 1 })).toEqual(['bob'])
  expect(await actors({ to: start + 1_000 })).toEqual(['ann'])
  expect(await actors({ action: 'other' })).toEqual([])
})

test('whoever changes the units of the warehouse counts its version up without knowing', async () => {
  const report = { activityId: 8, skuId: 1, version: 0, units: 10, free: 10, held: 0, sold: 0 }
  const row = { activityId: 8, skuId: 1, units: 10, version: 1 }
  expect(await db.warehouse.report([report])).toEqual([row])
  expect(await db.warehouse.report([report])).toEqual([])
  await warehouse.query('UPDATE warehouse_stock SET units = 15 WHERE activity_id = 8')
  await warehouse.query('UPDATE warehouse_stock SET units = 20, version = version + 1 WHERE activity_id = 8')
  await warehouse.query('UPDATE warehouse_stock SET sold = 3 WHERE activity_id = 8')
  expect(await db.warehouse.list([8, 9])).toEqual([{ ...row, units: 20, version: 3 }])
})

test('units are reported only onto the version that they were made from', async () => {
  const report = { activityId: 8, skuId: 1, free: 1, held: 2, sold: 3 }
  expect(await db.warehouse.report([{ ...report, version: 2, units: 99 }])).toMatchObject([{ units: 20, version: 3 }])
  expect(await db.warehouse.report([{ ...report, version: 3, units: 25 }])).toMatchObject([{ units: 25, version: 4 }])
  expect(await db.warehouse.report([{ ...report, version: 4 }])).toMatchObject([{ units: 25, version: 4 }])
  const { rows } = await warehouse.query('SELECT free, held, sold FROM warehouse_stock WHERE activity_id = 8')
  expect(rows).toEqual([{ free: 1, held: 2, sold: 3 }])
})

test('rules are stored once by name, with their audit', async () => {
  const audit = (row: { id: number }) => ({ ...who, action: 'rule.create', subject: `rule:${row.id}` })
  const made = await db.rules.create({ name: 'quiet', body: { when: 'true' } }, audit)
  expect(await db.rules.create({ name: 'quiet', body: {} }, audit)).toBeUndefined()
  const other = await db.rules.create({ name: 'loud', body: {} })
  expect(await db.rules.patch(other?.id ?? 0, { name: 'quiet', body: {} })).toBeUndefined()
  expect(await db.rules.patch(other?.id ?? 0, { name: 'louder', body: { x: 1 } })).toMatchObject({ version: 2 })
  expect((await db.rules.list()).map(({ name }) => name)).toEqual(['quiet', 'louder'])
  expect(await db.rules.remove(made?.id ?? 0)).toBe(true)
  expect(await db.rules.remove(made?.id ?? 0)).toBe(false)
  expect(await db.audit.list({ subject: 'rule' })).toHaveLength(1)
})
