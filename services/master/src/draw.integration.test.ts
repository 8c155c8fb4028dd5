import { type ActivityDoc, activityKey, DrawCheck, drawCommitOf } from '@bigtap/domain'
import { waitFor } from '@bigtap/testkit'
import { drawHashes } from '@bigtap/token'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdminRig, type Operator, startAdminRig } from './test-support/admin-rig.ts'

let rig: AdminRig
let operator: Operator
let admin: Operator
const seen: string[] = []

beforeAll(async () => {
  rig = await startAdminRig()
  operator = await rig.signedIn('operator')
  admin = await rig.signedIn('admin')
  for (const one of [operator, admin]) one.onAnswer = (_method, _path, { body }) => void seen.push(JSON.stringify(body))
}, 60_000)

afterAll(() => rig.stop())

async function define(waiting: Record<string, unknown>, opensInMs: number): Promise<number> {
  const opensAt = Date.now() + opensInMs
  const times = { opensAt, closesAt: opensAt + 600_000 }
  const { body } = await operator.call('POST', 'activities', {
    ...{ title: 'a draw', ...times, rule: 'once-per-product', admission: 'draw', waiting },
  })
  const money = { title: 's', priceCents: 100, currency: 'EUR', stock: 5, limitPerBuyer: 1 }
  await operator.call('POST', `activities/${body.id}/skus`, money)
  return Number(body.id)
}

async function documentOf(activityId: number): Promise<ActivityDoc> {
  return waitFor('the document', () => rig.doc<ActivityDoc>(activityKey(activityId)))
}

test('the seed is drawn when the sale is scheduled, and no answer, audit entry or version shows it', async () => {
  const chosen = 'ee'.repeat(32)
  const id = await define({ drawSeconds: 3, drawSeed: chosen, drawCommit: chosen }, 600_000)
  await operator.call('POST', `activities/${id}/actions/schedule`)

  const { waiting } = await documentOf(id)
  const answers = [
    await operator.call('GET', `activities/${id}`),
    await operator.call('GET', 'activities'),
    await operator.call('PATCH', `activities/${id}`, { waiting: { drawSeconds: 5, drawSeed: chosen } }),
    await operator.call('GET', `activities/${id}/versions`),
    await operator.call('GET', 'audit'),
    await operator.call('GET', `activities/${id}/skus`),
  ]

  expect(waiting.drawSeed).toMatch(/^[0-9a-f]{64}$/)
  expect(waiting.drawSeed).not.toBe(chosen)
  expect(waiting.drawCommit).toBe(drawCommitOf(waiting.drawSeed, drawHashes))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200])
  expect(answers[0]?.body).toMatchObject({ waiting: { drawCommit: waiting.drawCommit, drawSeed: '' } })
  expect(seen.filter((body) => body.includes(waiting.drawSeed))).toEqual([])
  const after = await waitFor('the new terms', async () => {
    const doc = await documentOf(id)
    return doc.waiting.drawSeconds === 5 && doc
  })
  expect(after.waiting.drawSeed).toBe(waiting.drawSeed)
})

test('each run has a seed of its own: after a reset the old one is worth nothing', async () => {
  const id = await define({ drawSeconds: 3 }, 600_000)
  await operator.call('POST', `activities/${id}/actions/schedule`)
  const first = (await documentOf(id)).waiting.drawSeed

  expect((await admin.call('POST', `activities/${id}/actions/reset`)).status).toBe(200)
  await waitFor('the sale is gone', async () => (await rig.doc(activityKey(id))) == null)
  await operator.call('POST', `activities/${id}/actions/schedule`)

  expect((await documentOf(id)).waiting.drawSeed).not.toBe(first)
})

test('what was drawn is given out when the draw is over, and not before', async () => {
  const id = await define({ drawSeconds: 1 }, 0)
  await operator.call('POST', `activities/${id}/actions/schedule`)
  const { skus } = (await operator.call('GET', `activities/${id}/skus`)).body as { skus: { id: number }[] }
  const path = `activities/${id}/skus/${skus[0]?.id}/draw`

  expect(await operator.call('GET', path)).toMatchObject({ status: 409, body: { code: 'wrong_state' } })
  await operator.call('POST', `activities/${id}/actions/preload`)
  const { text } = await waitFor('the draw', async () => {
    const { status, body } = await operator.call('GET', path)
    return status === 200 && (body as { text: string })
  })

  const check = new DrawCheck(drawHashes)
  for (const line of text.split('\n')) check.line(line)
  expect(check.end()).toMatchObject({ ok: true, value: { header: { activityId: id, drawSeconds: 1, count: 0 } } })
})
