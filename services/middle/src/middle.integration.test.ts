import { PRESSURE_KEY, skuKey, VERDICT } from '@bigtap/domain'
import { CodedError, slotOf } from '@bigtap/kernel'
import { startRedis, waitFor } from '@bigtap/testkit'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type SaleRig, startRig, uidsOf, withGrant } from './test-support/sale-rig.ts'

let rig: SaleRig

beforeAll(async () => {
  rig = await startRig()
})

afterEach(() => rig.stopNodes())

afterAll(() => rig.stop())

test('a crowd gets exactly the stock, and a repeated click the same token', async () => {
  const one = await rig.start('a', await rig.sale({ stock: 100 }))
  const uids = uidsOf(1_000)
  const tokens = new Map<number, string>()

  await waitFor('all places are granted', async () => {
    for (const [index, { tokenId }] of (await one.ask(uids)).entries()) {
      if (tokenId === undefined) continue
      const uid = uids[index] ?? 0
      expect(tokens.get(uid) ?? tokenId).toBe(tokenId)
      tokens.set(uid, tokenId)
    }
    return tokens.size === 100
  })

  expect(new Set(tokens.values()).size).toBe(100)
  expect(one.node.grantedTotal).toBe(100)
  expect(await rig.figures()).toMatchObject({ outstanding: 100, pool: 0, leased: 0 })
})

test('crash between grant and answer: after the restart the buyer gets the same token, no second grant', async () => {
  const catalog = await rig.sale({ stock: 10 })
  const written: string[] = []
  const dying = await rig.start('a', catalog, (log) =>
    withGrant(log, async (grant, who, grants) => {
      await grant(who, grants)
      written.push(...grants.map(({ tokenId }) => tokenId))
      return new Promise(() => undefined)
    }),
  )
  await waitFor('the grant is written', () => {
    void dying.ask([7])
    return written.length === 1
  })
  dying.node.stop()

  const again = await rig.start('a', catalog)

  expect((await again.buy(7)).tokenId).toBe(written[0])
  expect(again.node.grantedTotal).toBe(1)
  expect(await rig.figures()).toMatchObject({ outstanding: 1 })
})

test.each([true, false])(
  'a write that got no answer (carried out: %s) is neither refused nor granted twice',
  async (isDone) => {
    const written: string[] = []
    let failures = 1
    const one = await rig.start('a', await rig.sale({ stock: 10 }), (log) =>
      withGrant(log, async (grant, who, grants) => {
        if (failures-- <= 0) return grant(who, grants)
        if (isDone) await grant(who, grants)
        written.push(...grants.map(({ tokenId }) => tokenId))
        throw new CodedError({ code: 'STORE_FAILED', message: 'command timed out' })
      }),
    )

    const first = await waitFor('the write fails', async () => {
      const [answer] = await one.ask([7])
      return answer?.code === VERDICT.queued ? false : answer
    })
    expect(first.code).toBe(VERDICT.unavailable)
    const second = await one.buy(7)

    expect(second.code).toBe(VERDICT.granted)
    expect(second.tokenId === written[0]).toBe(isDone)
    expect(one.node.grantedTotal).toBe(1)
    expect(await rig.figures()).toMatchObject({ outstanding: 1 })
  },
)

test('of two nodes only one has buyers: all units are sold', async () => {
  const catalog = await rig.sale({ stock: 300, nodes: ['a', 'b'] })
  const a = await rig.start('a', catalog)
  await rig.start('b', catalog)
  const uids = uidsOf(300, (uid) => slotOf(uid) % 2 === 0)
  const sold = new Set<number>()

  await waitFor('all are granted', async () => {
    for (const [index, { code }] of (await a.ask(uids)).entries())
      if (code === VERDICT.granted) sold.add(uids[index] ?? 0)
    return sold.size === 300
  })

  expect(await rig.figures()).toMatchObject({ outstanding: 300, pool: 0, leased: 0 })
  const [foreign] = await a.ask(uidsOf(1, (uid) => slotOf(uid) % 2 === 1))
  expect(foreign?.code).toBe(VERDICT.notOwner)
})

test('a buyer who bought is told so, and can buy again after the hold was given back', async () => {
  const one = await rig.start('a', await rig.sale({ stock: 5 }))
  const { tokenId = '' } = await one.buy(7)
  const token = { tokenId, uid: 7, skuId: 1, quantity: 1, expiresAt: Date.now() + 60_000 }
  await rig.ledger.reserve(rig.activity, [token])

  expect((await one.buy(7)).code).toBe(VERDICT.alreadyBought)

  await rig.ledger.cancel(rig.activity, [`o${tokenId}`])
  const second = await waitFor('a second token', async () => {
    const answer = await one.buy(7)
    return answer.code === VERDICT.granted && answer.tokenId !== tokenId ? answer : false
  })
  expect(second.tokenId).toHaveLength(32)
  expect(await rig.figures()).toMatchObject({ outstanding: 1, held: 0 })
})

test('the pace is kept, and a new one holds at once', async () => {
  const catalog = await rig.sale({ stock: 10_000, policy: { pacePerSecond: 100 } })
  const one = await rig.start('a', catalog)
  const uids = uidsOf(1_000)
  const during = async (ms: number) => {
    const before = one.node.grantedTotal
    const until = performance.now() + ms
    for (let at = 0; performance.now() < until; at = (at + 50) % 1_000) await one.ask(uids.slice(at, at + 50))
    return one.node.grantedTotal - before
  }

  const slow = await during(1_000)
  expect(slow).toBeGreaterThan(80)
  expect(slow).toBeLessThan(125)

  catalog.apply({ key: skuKey(rig.activity, 1), revision: 2, body: rig.skuBody(10_000, 1, { pacePerSecond: 400 }) })
  one.node.applyCatalog()
  const fast = await during(1_000)
  expect(fast).toBeGreaterThan(330)
  expect(fast).toBeLessThan(480)
})

test('pressure of the services behind lowers the pace at once', async () => {
  const catalog = await rig.sale({ stock: 10_000, policy: { pacePerSecond: 1_000 } })
  const one = await rig.start('a', catalog)
  const uids = uidsOf(3_000)
  const during = async (ms: number) => {
    const before = one.node.grantedTotal
    const until = performance.now() + ms
    for (let at = 0; performance.now() < until; at = (at + 50) % 3_000) await one.ask(uids.slice(at, at + 50))
    return one.node.grantedTotal - before
  }
  await during(300)

  catalog.apply({ key: PRESSURE_KEY, revision: 2, body: { factor: 0.05, reason: 'counter-1 waits', at: Date.now() } })
  one.node.applyCatalog()
  await during(100)

  expect(await during(1_000)).toBeLessThan(60)
})

test('Redis restarted: nothing is granted until the ledger is verified, then old buyers have their tokens', async () => {
  const one = await rig.start('a', await rig.sale({ stock: 20 }))
  const { tokenId } = await one.buy(7)
  const port = Number(new URL(rig.redis.url).port)
  const dir = String((await rig.store.redis.config('GET', 'dir')) as unknown as string[]).split(',')[1] ?? ''
  await rig.redis.kill()
  rig.redis = await startRedis({ port, dir, appendfsync: 'always' })
  await waitFor('redis is back', () => rig.store.ready())

  expect((await one.ask([8]))[0]?.code).toBe(VERDICT.unavailable)
  await rig.ledger.beginRebuild(rig.activity)
  await rig.ledger.endRebuild(rig.activity, 2)

  expect((await one.buy(7)).tokenId).toBe(tokenId)
  expect((await one.buy(8)).code).toBe(VERDICT.granted)
  expect(one.node.grantedTotal).toBe(2)
  expect(await rig.figures()).toMatchObject({ outstanding: 2 })
})

test('Redis emptied: tokens that were granted are put back into the new ledger', async () => {
  const one = await rig.start('a', await rig.sale({ stock: 20 }))
  const { tokenId } = await one.buy(7)
  await rig.store.redis.flushall()
  await waitFor('the loss is seen', () => !one.node.isServing)

  rig.ledger.guards.forget(rig.activity)
  const row = { skuId: 1, stock: 20, overbook: 1, limitPerBuyer: 1, priceCents: 100, holdSeconds: 60 }
  await rig.ledger.open(rig.activity, 'once-per-product', [row])

  expect((await one.buy(7)).tokenId).toBe(tokenId)
  expect(await rig.figures()).toMatchObject({ outstanding: 1 })
  expect(one.node.grantedTotal).toBe(1)
})
