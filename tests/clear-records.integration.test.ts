/** An operator's call reaches the nodes: admin API → leader → both routers → front, once. */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../packages/testkit/src/index.ts'
import { type AdminRig, startAdminRig } from '../services/master/src/test-support/admin-rig.ts'
import { startFront, startRouter, type TestFront } from '../services/mdw-router/src/test-support/router-rig.ts'
import { ApiDocument } from './openapi.ts'

const SECRET = 'cluster secret of the router tests'
const api = new ApiDocument()
const stops: (() => Promise<void>)[] = []
let rig: AdminRig
let front: TestFront

beforeAll(async () => {
  api.compileAll() // it takes a second, in which a leader would lose its lease
  const routers = await Promise.all(['r1', 'r2'].map((id) => startRouter(id)))
  stops.push(
    ...routers.map(
      ({ router }) =>
        () =>
          router.stop(),
    ),
  )
  const ports = routers.map(({ port }) => port)
  rig = await startAdminRig({
    clusterSecret: SECRET,
    routers: ports.map((port) => `127.0.0.1:${port}`),
    warehouse: 'off',
  })
  stops.push(() => rig.stop())
  front = await startFront('n1', { routers: ports, redisUrl: rig.redis.url })
  stops.push(() => front.stop())
  await waitFor('the front to be linked', () => front.links.linked === 2)
  await waitFor('master to be linked', () => rig.master.reign()?.links.ready === 2)
}, 120_000)

afterAll(async () => {
  for (const stop of stops.reverse()) await stop()
})

test('records are cleared at every node, once for each call, and the audit names no buyer', async () => {
  const admin = await rig.signedIn('admin')
  const faults: string[] = []
  admin.onAnswer = (method, path, seen) => void faults.push(...api.check(method, path, seen))
  const times = { opensAt: Date.now() + 300_000, closesAt: Date.now() + 600_000 }
  const { id } = (await admin.call('POST', 'activities', { title: 'x', rule: 'unlimited', ...times })).body

  for (const uid of [4_711, 4_712])
    expect(await admin.call('POST', 'middle/records/clear', { activityId: id, uid })).toMatchObject({
      status: 202,
      body: { isOneBuyer: true },
    })
  await admin.call('POST', 'middle/records/clear', { activityId: id })

  await waitFor('three calls', () => front.calls.length >= 3)
  expect(front.calls.map((one) => JSON.stringify(one)).join()).toContain('4712')
  expect(front.calls).toHaveLength(3)
  expect(faults).toEqual([])
  const entries = await rig.db.audit.list({ action: 'records.clear' })
  expect(entries).toHaveLength(3)
  expect(JSON.stringify(entries)).not.toContain('4711')
})
