import { type ActivityDoc, activityKey, DEFAULT_WAITING, NO_CHALLENGE, NO_RESERVATION, statusKey } from '@bigtap/domain'
import { nullLogger } from '@bigtap/kernel'
import { type AbuseVerdictBatch, encodeAbuseVerdicts, KIND } from '@bigtap/protocol'
import { CatalogStore, connectStore, type Store } from '@bigtap/store'
import { type Engine, startRedis, waitFor } from '@bigtap/testkit'
import { createDialer } from '@bigtap/transport'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Router } from './router.ts'
import { startCutProxy } from './test-support/cut-proxy.ts'
import { parts, startFront, startRouter, type TestFront, TestMaster } from './test-support/router-rig.ts'

const ACTIVITY: ActivityDoc = {
  ...{ id: 7, title: 'Phone', state: 'open', stage: 'middle', opensAt: 1_000, closesAt: 2_000 },
  ...{
    rule: 'once-per-product',
    admission: 'direct',
    waiting: DEFAULT_WAITING,
    challenge: NO_CHALLENGE,
    reservation: NO_RESERVATION,
    skuIds: [1],
    accessLimits: [],
  },
}
const titled = (title: string) => ({ key: activityKey(7), body: { ...ACTIVITY, title } })
const status = (skuId: number, free: number) => ({
  key: statusKey(7, skuId),
  body: { activityId: 7, skuId, soldOut: free === 0, exhausted: free === 0, free, held: 0, sold: 5, at: 1_500 },
})

let redis: Engine
let store: Store
let catalog: CatalogStore
let stops: (() => Promise<void>)[]

beforeAll(async () => {
  redis = await startRedis()
  store = connectStore({ url: redis.url, commandMsMax: 2_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
})
beforeEach(async () => {
  await store.redis.flushall()
  catalog = new CatalogStore(store)
  stops = []
})
afterEach(async () => {
  for (const stop of stops.reverse()) await stop()
})
afterAll(async () => {
  await store.close()
  await redis.stop()
})

const router = async (nodeId: string, port = 0): Promise<{ router: Router; port: number }> => {
  const started = await startRouter(nodeId, port)
  stops.push(() => started.router.stop())
  return started
}
const front = async (
  nodeId: string,
  routers: readonly number[],
  redisUrl = redis.url,
  role = 'limiter',
): Promise<TestFront> => {
  const started = await startFront(nodeId, { routers, redisUrl, role })
  stops.push(() => started.stop())
  await waitFor('the front to be linked', () => started.links.linked === routers.length)
  return started
}
const master = async (epoch: number, routers: readonly number[]): Promise<TestMaster> => {
  const started = new TestMaster(epoch, { routers, catalog })
  stops.push(() => started.stop())
  await started.start()
  return started
}

describe('a command', () => {
  test('reaches every front, is applied before any poll, and its acks reach the master', async () => {
    const { port } = await router('r1')
    const fronts = await Promise.all(['n1', 'n2', 'n3'].map((id) => front(id, [port])))
    const leader = await master(1, [port])
    const revision = await leader.publish([titled('New'), status(1, 3)])

    await waitFor('acks', () => leader.acks.size === 3 && [...leader.acks.values()].every(({ upTo }) => upTo === 2))
    for (const { mirror } of fronts) expect([mirror.activity(7)?.title, mirror.status(7, 1)?.free]).toEqual(['New', 3])
    await waitFor('their revision', () => [...leader.acks.values()].every((ack) => ack.revision === revision))
    const { digest } = await catalog.head()
    expect([...leader.acks.values()].map((ack) => [ack.role, ack.digest])).toEqual(Array(3).fill(['limiter', digest]))
  })

  test('over two routers changes something once, and a call is done once', async () => {
    const [a, b] = [await router('r1'), await router('r2')]
    const { mirror, calls } = await front('n1', [a.port, b.port])
    const leader = await master(1, [a.port, b.port])
    const heard: string[] = []
    mirror.onChange((keys) => heard.push(...keys))
    await leader.publish([titled('New')])
    leader.send([leader.command('call:clear', { activityId: 7 }), leader.command('call:fail', {})])
    await waitFor('both routers', () => leader.reports.filter(({ upTo }) => upTo === 3).length >= 2)

    expect(heard).toEqual(['activity:7'])
    expect(calls).toEqual([['clear', { activityId: 7 }]])
    expect(leader.reports.flatMap(({ refused }) => refused)).toEqual([
      { key: 'call:fail', revision: 1, error: 'no such thing' },
    ])
  })

  test('on trial reaches its node only, which says so; nothing is published', async () => {
    const { port } = await router('r1')
    const [canary, other] = [await front('n1', [port]), await front('n2', [port])]
    const leader = await master(1, [port])
    await leader.publish([titled('Old')])
    const trial = leader.command(activityKey(7), titled('Trial').body, { isTrial: true, nodes: ['n1'] })
    leader.sendAhead([trial])

    await waitFor('its ack', () => leader.acks.get('n1')?.ahead.includes(trial.sequence) === true)
    expect([canary.mirror.activity(7)?.title, other.mirror.activity(7)?.title]).toEqual(['Trial', 'Old'])
  })

  test('that is lost with a master or a router is found in the catalog', async () => {
    const first = await router('r1')
    const { mirror, links } = await front('n1', [first.port])
    const old = await master(1, [first.port])
    await old.publish([titled('Old')])
    await waitFor('the first', () => mirror.activity(7)?.title === 'Old')
    await first.router.stop()
    await catalog.publish([titled('While it was away')], { epoch: 1 })
    await router('r1', first.port)

    await waitFor('the router again', () => links.linked === 1)
    await waitFor('what was missed', () => mirror.activity(7)?.title === 'While it was away')
    const next = await master(2, [first.port])
    await next.publish([titled('New')])
    await waitFor('the new master', () => mirror.activity(7)?.title === 'New')
  })
})

describe('who is refused', () => {
  test('a deposed master: it is told so, and its commands go nowhere', async () => {
    const { port } = await router('r1')
    const { mirror } = await front('n1', [port])
    const deposed = await master(1, [port])
    const leader = await master(2, [port])
    await leader.publish([titled('New')])
    deposed.send([deposed.command(activityKey(7), titled('Deposed').body, { revision: 99 })])

    await waitFor('the error', () => deposed.errors.length > 0)
    await waitFor('the leader', () => mirror.activity(7)?.title === 'New')
    expect(deposed.errors[0]?.code).toBe('STALE_EPOCH')
    await expect(deposed.publish([titled('Deposed')])).rejects.toMatchObject({ code: 'STALE_EPOCH' })
  })

  test('a front that sends commands, and a master that sends no message: its link is cut, the others stay', async () => {
    const { port } = await router('r1')
    const { mirror } = await front('n1', [port])
    const leader = await master(1, [port])
    const seen: number[] = []
    const dialer = createDialer(
      {
        nodeId: 'odd',
        role: 'limiter',
        clusterSecret: 'cluster secret of the router tests',
        address: `127.0.0.1:${port}`,
      },
      { ...parts, onFrame: (_link, kind) => void seen.push(kind) },
    )
    stops.push(() => dialer.stop())
    dialer.start()
    await dialer.ready(5_000)
    dialer.send(KIND.command, 5, Buffer.alloc(0))
    await waitFor('the refusal', () => seen.includes(KIND.error))
    dialer.send(KIND.ack, 5, Buffer.from([0xff]))
    await waitFor('the cut', () => dialer.state !== 'ready')

    await leader.publish([titled('New')])
    await waitFor('the sale to go on', () => mirror.activity(7)?.title === 'New')
  })

  test('rubbish in documents: the last good ones stay, the master hears which and why', async () => {
    const { port } = await router('r1')
    const { mirror } = await front('n1', [port])
    const leader = await master(1, [port])
    await leader.publish([titled('Good'), status(1, 3)])
    await waitFor('the good ones', () => mirror.revision === 1)
    const bodies = ['null', '', '{', '[]', '{"id":7}', `{"id":7,"title":${JSON.stringify('x'.repeat(60_000))}}`]
    leader.head = 50
    leader.send(
      bodies.map((body, n) => leader.command(`activity:${n === 0 ? 7 : n + 7}`, {}, { body: Buffer.from(body) })),
    )

    await waitFor('the refusals', () => leader.reports.flatMap(({ refused }) => refused).length >= bodies.length)
    expect(mirror.activity(7)?.title).toBe('Good')
    expect(mirror.activities().size).toBe(1)
    expect(mirror.status(7, 1)?.free).toBe(3)
  })
})

test('after ten seconds of partition a front holds the newest within a second (the figure is printed)', async () => {
  const { port } = await router('r1')
  const [redisProxy, routerProxy] = [await startCutProxy(redis.port), await startCutProxy(port)]
  stops.push(redisProxy.stop, routerProxy.stop)
  const { mirror, links } = await front('n1', [routerProxy.port], `redis://127.0.0.1:${redisProxy.port}`)
  const leader = await master(1, [port])
  await leader.publish([titled('Before')])
  await waitFor('the first', () => mirror.activity(7)?.title === 'Before')

  redisProxy.cut()
  routerProxy.cut()
  await waitFor('the loss to be seen', () => links.linked === 0)
  await leader.publish([titled('Meanwhile'), status(1, 0)])
  await new Promise((resolve) => setTimeout(resolve, 10_000))
  expect(mirror.activity(7)?.title).toBe('Before')
  redisProxy.heal()
  routerProxy.heal()
  const healedAt = performance.now()
  await waitFor('the front to converge', () => mirror.activity(7)?.title === 'Meanwhile')

  console.log(`converged ${Math.round(performance.now() - healedAt)} ms after a partition of 10 s`)
  expect(mirror.status(7, 1)?.soldOut).toBe(true)
}, 40_000)

describe('verdicts about abuse', () => {
  const batch: AbuseVerdictBatch = {
    from: 41,
    verdicts: [
      {
        ...{ id: '00112233445566ff', kind: 'uid', key: '7', tier: 5, reason: 'rule burst', score: 1 },
        ...{ at: 1_500, expiresAt: 601_500, isShadow: false, by: 'antiblack' },
      },
    ],
  }

  test('go from antiblack and from masters to every limiter, and to nobody else', async () => {
    const [one, other] = await Promise.all([router('r1'), router('r2')])
    const ports = [one.port, other.port]
    const limiters = await Promise.all(['l1', 'l2'].map((id) => front(id, ports)))
    const middle = await front('m1', ports, redis.url, 'middle')
    const antiblack = await front('a1', ports, redis.url, 'antiblack')
    const leader = await master(1, ports)

    expect(antiblack.links.tell(KIND.abuseVerdicts, encodeAbuseVerdicts(batch))).toBe(2)
    for (const dialer of leader.dialers) dialer.send(KIND.abuseVerdicts, 0, encodeAbuseVerdicts({ ...batch, from: 42 }))

    await waitFor('both, over both routers', () => limiters.every(({ verdicts }) => verdicts.length === 4))
    for (const { verdicts } of limiters) {
      expect(verdicts.map(({ from }) => from).sort()).toEqual([41, 41, 42, 42])
      expect(verdicts[0]?.verdicts).toEqual(batch.verdicts)
    }
    expect([middle.verdicts, antiblack.verdicts]).toEqual([[], []])
    expect(one.router.figures().verdicts).toBe(2)
  })

  test('of any other role are refused and go nowhere', async () => {
    const { port } = await router('r1')
    const limiter = await front('l1', [port])
    const cart = await front('c1', [port], redis.url, 'cart')
    const antiblack = await front('a1', [port], redis.url, 'antiblack')

    cart.links.tell(KIND.abuseVerdicts, encodeAbuseVerdicts({ ...batch, from: 1 }))
    limiter.links.tell(KIND.abuseVerdicts, encodeAbuseVerdicts({ ...batch, from: 2 }))
    antiblack.links.tell(KIND.abuseVerdicts, encodeAbuseVerdicts({ ...batch, from: 3 }))

    await waitFor('the verdict of antiblack', () => limiter.verdicts.length > 0)
    expect(limiter.verdicts.map(({ from }) => from)).toEqual([3])
  })

  test('that are none close the link they came over, and no limiter hears of them', async () => {
    const { port } = await router('r1')
    const limiter = await front('l1', [port])
    const antiblack = await front('a1', [port], redis.url, 'antiblack')

    antiblack.links.tell(KIND.abuseVerdicts, Buffer.from('no verdicts'))
    await waitFor('the link to be closed', () => antiblack.links.linked === 0)
    await waitFor('the link to be there again', () => antiblack.links.linked === 1)
    antiblack.links.tell(KIND.abuseVerdicts, encodeAbuseVerdicts(batch))

    await waitFor('the verdict', () => limiter.verdicts.length > 0)
    expect(limiter.verdicts).toEqual([batch])
  })
})
