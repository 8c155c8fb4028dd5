import { createHash } from 'node:crypto'
import { activityKey, DrawCheck, drawCommitOf, drawPseudonym, drawScore, VERDICT } from '@bigtap/domain'
import { slotOf } from '@bigtap/kernel'
import { Guards, Lines } from '@bigtap/store'
import { waitFor } from '@bigtap/testkit'
import { drawHashes } from '@bigtap/token'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Answer, apply, type RunningNode, type SaleRig, startRig, uidsOf } from './test-support/sale-rig.ts'

const QUICK = { heartbeatSeconds: 2, callSeconds: 1 }

let rig: SaleRig
let lines: Lines

beforeAll(async () => {
  rig = await startRig()
  lines = new Lines(rig.store, new Guards(rig.store))
})

afterEach(() => rig.stopNodes())

afterAll(() => rig.stop())

/** Asks one after the other, so that the order of joining is known. */
async function joinAll(node: RunningNode, uids: readonly number[]): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const uid of uids) answers.push(await ask(node, uid))
  return answers
}

/** One ask with an answer that says something. */
async function ask(node: RunningNode, uid: number): Promise<Answer> {
  return waitFor(`an answer for ${uid}`, async () => {
    const [answer] = await node.ask([uid])
    const isEmpty = answer?.code === VERDICT.unavailable || answer?.code === VERDICT.moving
    return answer === undefined || isEmpty ? false : answer
  })
}

/** Who of these was granted, in order of the grants; they ask again and again, all at once. */
async function admit(node: RunningNode, uids: readonly number[], count: number): Promise<number[]> {
  const granted: number[] = []
  await waitFor(
    `${count} are granted`,
    async () => {
      const left = uids.filter((uid) => !granted.includes(uid))
      for (const [index, { code }] of (await node.ask(left)).entries())
        if (code === VERDICT.granted) granted.push(left[index] ?? 0)
      return granted.length >= count
    },
    10_000,
  )
  return granted
}

test('30 join, 10 are admitted, the next 10 vanish, the rest are admitted within the heartbeat time', async () => {
  const waiting = { ...QUICK, callSeconds: 2 }
  const one = await rig.start(
    'a',
    await rig.sale({ stock: 20, admission: 'queue', waiting, policy: { pacePerSecond: 5 } }),
  )
  const uids = uidsOf(30)
  await one.ask(uids)

  const first = await admit(one, uids.slice(0, 10), 10)
  const rest = await admit(one, uids.slice(20), 10)

  expect(first).toHaveLength(10)
  expect(rest).toHaveLength(10)
  expect(await rig.figures()).toMatchObject({ outstanding: 20, pool: 0 })
})

test('a place is the buyer’s, however often he asks, and nobody overtakes', async () => {
  const terms = { stock: 10, admission: 'queue' as const, policy: { pacePerSecond: 20 } }
  const one = await rig.start('a', await rig.sale(terms))
  const uids = uidsOf(30)
  const order: number[] = []
  const told = new Map<number, number>()

  await joinAll(one, uids)
  await waitFor(
    'all units are granted',
    async () => {
      for (const uid of uids.filter((buyer) => !order.includes(buyer)).reverse()) {
        const answer = await ask(one, uid)
        if (answer.code === VERDICT.granted) order.push(uid)
        else if (answer.place > 0) {
          expect(told.get(uid) ?? answer.place).toBe(answer.place)
          told.set(uid, answer.place)
          expect(answer.place).toBe(uids.indexOf(uid) + 1)
        }
      }
      return order.length === 10
    },
    15_000,
  )

  expect([...order].sort((x, y) => x - y)).toEqual(uids.slice(0, 10))
  expect(await lines.state(rig.activity, 1)).toMatchObject({ cursor: 10, joined: 30, waiting: 20 })
})

test('a node that takes the buyers over knows their places, and so does the one that was started again', async () => {
  const catalog = await rig.sale({ stock: 1, admission: 'queue', nodes: ['a'] })
  const a = await rig.start('a', catalog)
  const uids = uidsOf(10)
  await joinAll(a, uids)
  const before = await joinAll(a, uids)
  a.node.stop()

  const again = await rig.start('a', catalog)
  const after = await joinAll(again, [...uids].reverse())

  expect(before.slice(1).map(({ place }) => place)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10])
  expect(after.reverse().map(({ place }) => place)).toEqual(before.map(({ place }) => place))
})

test('a unit that comes back goes to who waited first, though others ask before him', async () => {
  const waiting = { hasWaitingList: true, heartbeatSeconds: 30, callSeconds: 5 }
  const one = await rig.start('a', await rig.sale({ stock: 1, waiting }))
  const { tokenId = '' } = await one.buy(7)
  const token = { tokenId, uid: 7, skuId: 1, quantity: 1, expiresAt: Date.now() + 60_000 }
  await rig.ledger.reserve(rig.activity, [token])
  const [first = 0, ...others] = uidsOf(20, (uid) => uid !== 7)
  await waitFor('the first stands in the line', async () => (await ask(one, first)).place === 1)
  await joinAll(one, others)

  await rig.ledger.cancel(rig.activity, [`o${tokenId}`])
  const told = await one.ask(others)

  expect(told.map(({ code }) => code)).toEqual(others.map(() => VERDICT.queued))
  expect(await admit(one, [...others, first], 1)).toEqual([first])
})

test('a node that has not heard of the waiting list grants nothing past it: its buyer joins instead', async () => {
  const waiting = { hasWaitingList: true, heartbeatSeconds: 30, callSeconds: 30 }
  const catalog = await rig.sale({ stock: 1, nodes: ['a', 'b'], waiting })
  const [a, b] = [await rig.start('a', catalog), await rig.start('b', catalog)]
  const [holder = 0, waits = 0] = uidsOf(2, (uid) => slotOf(uid) % 2 === 0)
  const [other = 0] = uidsOf(1, (uid) => slotOf(uid) % 2 === 1)
  const { tokenId = '' } = await a.buy(holder)
  await rig.ledger.reserve(rig.activity, [
    { tokenId, uid: holder, skuId: 1, quantity: 1, expiresAt: Date.now() + 60_000 },
  ])
  await waitFor('a line at the first node', async () => (await ask(a, waits)).place === 1)

  await rig.ledger.cancel(rig.activity, [`o${tokenId}`])
  await waitFor('the unit is called for him', async () => ((await lines.state(rig.activity, 1))?.called ?? 0) === 1)
  const told = await waitFor('the other node has tried', async () => {
    const answer = await ask(b, other)
    return answer.place > 0 && answer
  })

  expect(told).toMatchObject({ code: VERDICT.queued, place: 2 })
  expect(await admit(a, [waits], 1)).toEqual([waits])
  expect(await rig.figures()).toMatchObject({ outstanding: 1 })
})

test('after a reset old numbers are void', async () => {
  const one = await rig.start('a', await rig.sale({ stock: 1, admission: 'queue' }))
  const uids = uidsOf(6)
  await joinAll(one, uids)
  await admit(one, uids.slice(0, 1), 1)
  expect((await ask(one, uids[5] ?? 0)).place).toBe(6)

  await lines.clear(rig.activity, [1])
  await waitFor('the node has seen it', async () => (await ask(one, uids[5] ?? 0)).place === 1)

  expect(await lines.state(rig.activity, 1)).toMatchObject({ cursor: 0, joined: 1 })
})

test('a draw: who asks in time stands in the order of the seed, who comes later behind all', async () => {
  const seed = createHash('sha256').update('a seed of the tests').digest('hex')
  const commit = drawCommitOf(seed, drawHashes)
  const waiting = { ...QUICK, heartbeatSeconds: 30, drawSeconds: 1, drawSeed: seed, drawCommit: commit }
  const one = await rig.start('a', await rig.sale({ stock: 1, admission: 'draw', waiting, opensInMs: 0 }))
  const uids = uidsOf(20)
  const score = (uid: number) => drawScore(seed, drawPseudonym({ commit, skuId: 1 }, uid, drawHashes), drawHashes)

  const early = await joinAll(one, uids)
  await waitFor('the draw is over', async () => ((await lines.state(rig.activity, 1))?.cursor ?? 0) > 0)
  const late = await ask(one, 9_999)
  const places = await joinAll(one, uids)

  expect(early.every(({ code, place }) => code === VERDICT.queued && place === 0)).toBe(true)
  const inOrder = [...uids].sort((x, y) => score(x) - score(y))
  const winner = places.findIndex(({ place, code }) => code === VERDICT.granted || place === 0)
  expect(uids[winner]).toBe(inOrder[0])
  for (const [index, { place }] of places.entries()) if (place > 0) expect(inOrder[place - 1]).toBe(uids[index])
  expect(late.place).toBe(21)
  const check = new DrawCheck(drawHashes)
  const header = { activityId: rig.activity, skuId: 1, commit, seed, drawSeconds: 1, count: 20 }
  check.line(JSON.stringify(header))
  for (const [index, { pseudonym }] of (await lines.drawn(rig.activity, 1, 0)).entries())
    check.line(JSON.stringify({ place: index + 1, pseudonym }))
  expect(check.end()).toMatchObject({ ok: true, value: { places: 20 } })
})

test('two nodes and one line: the order of joining is the order of the turns', async () => {
  const catalog = await rig.sale({ stock: 20, nodes: ['a', 'b'], admission: 'queue', policy: { pacePerSecond: 20 } })
  const nodes = [await rig.start('a', catalog), await rig.start('b', catalog)]
  const nodeOf = (uid: number) => nodes[slotOf(uid) % 2] as RunningNode
  const uids = uidsOf(40)
  for (const uid of uids) await ask(nodeOf(uid), uid)

  const granted = new Set<number>()
  await waitFor(
    'all units are granted',
    async () => {
      for (const uid of uids) if ((await ask(nodeOf(uid), uid)).code === VERDICT.granted) granted.add(uid)
      return granted.size === 20
    },
    10_000,
  )

  expect([...granted].sort((x, y) => x - y)).toEqual(uids.slice(0, 20))
})

test('a pause that is longer than the heartbeat takes nobody’s place', async () => {
  const catalog = await rig.sale({ stock: 2, admission: 'queue', waiting: { heartbeatSeconds: 1, callSeconds: 5 } })
  const one = await rig.start('a', catalog)
  const uids = uidsOf(2)
  const body = catalog.activity(rig.activity)
  apply(catalog, activityKey(rig.activity), 2, { ...body, state: 'paused' })
  one.node.applyCatalog()
  expect((await ask(one, uids[0] ?? 0)).code).toBe(VERDICT.paused)
  const who = {
    activityId: rig.activity,
    nodeId: 'a',
    fence: Number(await rig.store.redis.hget(`bt:{${rig.activity}}:meta`, 'fence:a')),
  }
  const times = { callsAt: 0, heartbeatMs: 1_000, callMs: 5_000, calledMax: 0, thereAt: 0 }
  await lines.serve(who, { skuId: 1, mode: 'queue', ...times, joins: uids.map((uid) => ({ uid })), heard: [] })
  await new Promise((resolve) => setTimeout(resolve, 1_500))

  apply(catalog, activityKey(rig.activity), 3, { ...body, state: 'open' })
  one.node.applyCatalog()

  expect(await admit(one, uids, 2)).toHaveLength(2)
  expect(await lines.state(rig.activity, 1)).toMatchObject({ joined: 2 })
})
