import { type CatalogFeed, Mirror } from '@bigtap/catalog'
import {
  type AccessLimit,
  type ActivityDoc,
  DEFAULT_WAITING,
  NO_CHALLENGE,
  NO_RESERVATION,
  VERDICT,
} from '@bigtap/domain'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import {
  AskColumns,
  decodeAskBatch,
  encodeVerdictBatch,
  KIND,
  VerdictColumns,
  verdictBatchBytesMax,
} from '@bigtap/protocol'
import { systemClock, systemRandom } from '@bigtap/runtime'
import { waitFor } from '@bigtap/testkit'
import { createKeyRing, issueSession, issueTicket } from '@bigtap/token'
import { createServer, type Link } from '@bigtap/transport'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createLimiter, type Limiter } from './limiter.ts'
import type { ReservationStore } from './seats.ts'

const CLUSTER = 'cluster-secret-of-the-test'
const ring = createKeyRing({ current: 'token-secret-of-the-test' })
const now = Date.now()
const ACTIVITY: ActivityDoc = {
  id: 7,
  title: 'Phone',
  state: 'open',
  opensAt: now - 1_000,
  closesAt: now + 600_000,
  rule: 'unlimited',
  admission: 'direct',
  waiting: DEFAULT_WAITING,
  challenge: NO_CHALLENGE,
  reservation: NO_RESERVATION,
  skuIds: [1, 2],
  accessLimits: [],
  stage: 'middle',
}
const sku = (id: number) => ({ id, activityId: 7, title: 'Black', priceCents: 100, currency: 'EUR', stock: 5 })
const status = (soldOut: boolean) => ({
  activityId: 7,
  skuId: 1,
  soldOut,
  exhausted: soldOut,
  free: 0,
  held: 0,
  sold: 5,
  at: now,
})

class MemoryFeed implements CatalogFeed {
  newest = 0
  docs: { key: string; revision: number; body: unknown }[] = []
  publish(key: string, body: unknown) {
    this.docs = [...this.docs.filter((one) => one.key !== key), { key, revision: ++this.newest, body }]
  }
  head = async () => ({ revision: this.newest, digest: '', epoch: 0 })
  readSince = async (revision: number) => this.docs.filter((one) => one.revision > revision)
}

class MemoryReservations implements ReservationStore {
  readonly uids = new Set<number>()
  isDown = false
  async reserve(_activityId: number, uid: number) {
    if (this.isDown) throw new Error('no answer')
    const isFirst = !this.uids.has(uid)
    this.uids.add(uid)
    return isFirst
  }
  head = async () => ({ logId: 'run:1', generation: 1, positions: this.uids.size, count: this.uids.size })
  async *read(_activityId: number, _head: unknown, from: number) {
    yield Float64Array.from([...this.uids].slice(from))
  }
}

/** A Middle that answers as a test says; real frames over a real link. */
async function startMiddle(
  answer: (uid: number, askId: number, verdicts: VerdictColumns) => void,
  nodeId = 'middle-1',
  port = 0,
) {
  const asked: number[] = []
  const links = new Set<Link>()
  const verdicts = new VerdictColumns(1_024)
  const bytes = Buffer.alloc(verdictBatchBytesMax(1_024))
  const asks = new AskColumns(1_024)
  const send = (link: Link) => {
    if (verdicts.rows > 0) link.send(KIND.verdict, 0, bytes.subarray(0, encodeVerdictBatch(verdicts, bytes)))
    verdicts.clear()
  }
  const server = createServer(
    { host: '127.0.0.1', port, nodeId, role: 'middle', clusterSecret: CLUSTER, drainMs: 20 },
    {
      logger: nullLogger,
      metrics: nullMetrics,
      clock: systemClock,
      random: systemRandom,
      onLink: (link) => void links.add(link),
      onFrame: (link, kind, _correlation, body) => {
        if (kind !== KIND.ask) return
        decodeAskBatch(body, asks)
        for (let row = 0; row < asks.rows; row++) {
          asked.push(asks.uid[row] ?? 0)
          answer(asks.uid[row] ?? 0, asks.askId[row] ?? 0, verdicts)
        }
        send(link)
      },
    },
  )
  const address = await server.start()
  return { server, asked, port: address.port, address: `127.0.0.1:${address.port}` }
}

let feed: MemoryFeed
let mirror: Mirror
let limiter: Limiter
let origin: string
let reservations: MemoryReservations
let middle: Awaited<ReturnType<typeof startMiddle>>
let answer: (uid: number, askId: number, verdicts: VerdictColumns) => void
const session = (uid: number) => issueSession(ring, { uid, expiresAt: Date.now() + 60_000 })
const ticket = (uid: number, more: Partial<Parameters<typeof issueTicket>[1]> = {}) =>
  issueTicket(ring, { uid, activityId: 7, skuId: 1, notBefore: now - 1_000, expiresAt: Date.now() + 60_000, ...more })
const call = async (path: string, { uid, ...init }: RequestInit & { uid?: number } = {}) => {
  const headers = { ...(uid ? { authorization: `Bearer ${session(uid)}` } : {}), ...(init.headers as object) }
  const response = await fetch(`${origin}${path}`, { ...init, headers })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}
const buy = (uid: number, text = ticket(uid)) => call(`/v1/buy/${text}`, { uid })
const publish = async (key: string, body: unknown) => {
  feed.publish(key, body)
  await mirror.pull()
}

describe.each(['uws', 'node'] as const)('the buyer API on the %s edge', (edge) => {
  beforeEach(async () => {
    answer = (uid, askId, verdicts) => verdicts.pushGranted(askId, `token-${uid}`, 1_900_000_000_000)
    middle = await startMiddle((uid, askId, verdicts) => answer(uid, askId, verdicts))
    feed = new MemoryFeed()
    feed.publish('activity:7', ACTIVITY)
    feed.publish('sku:7:1', sku(1))
    feed.publish('sku:7:2', sku(2))
    feed.publish('slots', {
      epoch: 1,
      nodes: [{ id: 'middle-1', address: middle.address }],
      owners: Array(1024).fill(0),
    })
    mirror = new Mirror(
      { service: 'limiter', pollMs: 50 },
      { catalog: feed, logger: nullLogger, clock: systemClock, metrics: nullMetrics },
    )
    reservations = new MemoryReservations()
    const settings = { host: '127.0.0.1', port: 0, edge, nodeId: 'limiter-1', clusterSecret: CLUSTER, asksMax: 64 }
    const times = { askMsMax: 100, sessionMs: 60_000, ticketMs: 60_000 }
    limiter = createLimiter(
      { ...settings, ...times, devLogin: true, isSecure: false, isTrusted: (address) => address === '127.0.0.1' },
      {
        mirror,
        reservations,
        ring,
        verifyIdToken: async (text) =>
          text === 'good' ? { ok: true, uid: 42 } : { ok: false, reason: text === 'down' ? 'unavailable' : 'refused' },
        logger: nullLogger,
        metrics: nullMetrics,
        clock: systemClock,
        random: systemRandom,
      },
    )
    await mirror.start()
    origin = `http://127.0.0.1:${await limiter.start()}`
    await waitFor('the link to Middle', () => limiter.links.readyCount === 1)
  })
  afterEach(async () => {
    mirror.stop()
    await limiter.stop()
    await middle.server.stop()
  })

  test('a buyer signs in, takes the hidden path and is granted', async () => {
    const signedIn = await call('/v1/session', { method: 'POST', body: '{"uid":5}' })
    const headers = { authorization: `Bearer ${signedIn.body.session}` }
    const path = await call('/v1/activities/7/skus/1/path', { headers })
    const bought = await call(path.body.path, { headers })

    expect(signedIn.body).toMatchObject({ uid: 5 })
    expect(path.body.path).toMatch(/^\/v1\/buy\/7\.1\./)
    expect(bought.status).toBe(200)
    expect(bought.body).toEqual({ state: 'granted', token: 'token-5', expiresAt: 1_900_000_000_000 })
    expect(bought.headers.get('cache-control')).toBe('no-store')
  })

  test('the session may come as a cookie, and a buy may be posted', async () => {
    const headers = { cookie: `a=b; bt_session=${session(5)}` }

    expect((await call(`/v1/buy/${ticket(5)}`, { method: 'POST', headers })).status).toBe(200)
  })

  test.each([
    [VERDICT.queued, 202, undefined],
    [VERDICT.soldOut, 410, 'sold_out'],
    [VERDICT.alreadyBought, 409, 'already_bought'],
    [VERDICT.ruleRefused, 409, 'rule_refused'],
    [VERDICT.notStarted, 425, 'not_started'],
    [VERDICT.paused, 503, 'paused'],
    [VERDICT.ended, 410, 'sold_out'],
    [VERDICT.unavailable, 503, 'unavailable'],
    [VERDICT.unknownSku, 400, 'bad_ticket'],
    [VERDICT.overloaded, 503, 'overloaded'],
    [VERDICT.notOwner, 503, 'unavailable'],
    [VERDICT.moving, 503, 'unavailable'],
    [99, 503, 'unavailable'],
  ])('verdict %i is answered %i %s', async (code, status, problemCode) => {
    answer = (_uid, askId, verdicts) => verdicts.push(askId, code, 0, 12, 3_000)

    const got = await buy(5)

    expect(got.status).toBe(status)
    expect(got.body.code).toBe(problemCode)
    if (problemCode !== undefined) expect(got.headers.get('content-type')).toBe('application/problem+json')
    if (status === 202) expect(got.body).toMatchObject({ state: 'queued', ahead: 12, etaMs: 3_000 })
    if (status === 425) expect(got.body.opensAt).toBe(ACTIVITY.opensAt)
    if (status === 202 || status === 503) {
      expect(got.body.retryAfterMs).toBeGreaterThan(0)
      expect(Number(got.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    }
  })

  test('what is sold out, paused, closed or not open yet is refused without a session and without Middle', async () => {
    await publish('status:7:1', status(true))
    expect((await call(`/v1/buy/${ticket(5)}`)).status).toBe(410)
    await publish('status:7:1', status(false))
    await publish('sku:7:1', { ...sku(1), paused: true })
    expect((await call(`/v1/buy/${ticket(5)}`)).body.code).toBe('paused')
    await publish('activity:7', { ...ACTIVITY, state: 'closed' })
    expect((await call(`/v1/buy/${ticket(5)}`)).body.code).toBe('sold_out')
    await publish('activity:7', { ...ACTIVITY, state: 'armed', opensAt: Date.now() + 60_000 })
    expect((await call(`/v1/buy/${ticket(5)}`)).status).toBe(425)
    expect((await call('/v1/activities/7/skus/1/path', { uid: 5 })).body.code).toBe('not_started')
    expect(middle.asked).toEqual([])
  })

  test('an armed activity opens by the limiter’s own clock', async () => {
    await publish('activity:7', { ...ACTIVITY, state: 'armed', opensAt: Date.now() + 150 })
    expect((await call('/v1/activities/7/skus/1/path', { uid: 5 })).status).toBe(425)

    await waitFor('the opening', async () => (await call('/v1/activities/7/skus/1/path', { uid: 5 })).status === 200)
  })

  test.each([
    ['no session', () => call(`/v1/buy/${ticket(5)}`), 401, 'no_session'],
    [
      'a forged session',
      () => call(`/v1/buy/${ticket(5)}`, { headers: { authorization: 'Bearer a.b.c' } }),
      401,
      'no_session',
    ],
    ['another buyer’s ticket', () => buy(6, ticket(5)), 400, 'bad_ticket'],
    ['a ticket that ran out', () => buy(5, ticket(5, { expiresAt: Date.now() - 1 })), 400, 'bad_ticket'],
    ['a ticket of an earlier run', () => buy(5, ticket(5, { notBefore: now - 2_000 })), 400, 'bad_ticket'],
    ['a ticket of a later run', () => buy(5, ticket(5, { notBefore: now + 9_999 })), 400, 'bad_ticket'],
    ['a ticket for a whole day', () => buy(5, ticket(5, { expiresAt: now + 86_400_000 })), 400, 'bad_ticket'],
    ['a ticket of an unknown product', () => buy(5, ticket(5, { skuId: 9 })), 400, 'bad_ticket'],
    ['a ticket changed to another product', () => buy(5, ticket(5).replace('7.1.', '7.2.')), 400, 'bad_ticket'],
    ['no ticket at all', () => buy(5, 'x'), 400, 'bad_ticket'],
    ['ids beyond 2^53', () => call('/v1/activities/9007199254740993'), 404, 'not_found'],
    ['a negative id', () => call('/v1/activities/-1/skus/1/path', { uid: 5 }), 404, 'not_found'],
  ])('%s is refused', async (_what, ask, status, code) => {
    const got = await ask()

    expect(got.status).toBe(status)
    expect(got.body.code).toBe(code)
    expect(middle.asked).toEqual([])
  })

  test('repeated clicks of one buyer are one ask, and share its answer', async () => {
    const got = await Promise.all(Array.from({ length: 3 }, () => buy(5)))

    expect(got.map((one) => one.body.token)).toEqual(['token-5', 'token-5', 'token-5'])
    expect(middle.asked.length).toBeLessThanOrEqual(3)
  })

  test('an ask that Middle does not answer is 503 in its time, and its late verdict harms nobody', async () => {
    const kept: number[] = []
    answer = (_uid, askId) => void kept.push(askId)
    const startedAt = performance.now()
    const clicks = await Promise.all(Array.from({ length: 6 }, () => buy(5)))

    expect(performance.now() - startedAt).toBeLessThan(400)
    expect(clicks.map((one) => one.body.code).sort()).toEqual([
      'rate_limited',
      'rate_limited',
      'unavailable',
      'unavailable',
      'unavailable',
      'unavailable',
    ])
    expect(kept).toHaveLength(1)

    answer = (uid, askId, verdicts) => {
      for (const late of kept) verdicts.pushGranted(late, 'token-late', 1)
      verdicts.pushGranted(askId, `token-${uid}`, 1)
    }
    expect((await buy(6)).body.token).toBe('token-6')
  })

  test('when the queue is full the next is told to come back', async () => {
    answer = () => undefined
    const got = await Promise.all(Array.from({ length: 80 }, (_, index) => buy(index + 1)))

    const codes = new Set(got.map((one) => one.body.code))
    expect(codes).toEqual(new Set(['unavailable', 'overloaded']))
  })

  test('without Middle a buy is 503, and goes on when it is back', async () => {
    await middle.server.stop()
    await waitFor('the link to be lost', () => limiter.links.readyCount === 0)

    expect((await buy(5)).body.code).toBe('unavailable')
  })

  test('a slot that moves costs no ask: it is asked again under the same id until it is served', async () => {
    const ids: number[] = []
    answer = (uid, askId, verdicts) => {
      ids.push(askId)
      if (ids.length < 3) verdicts.push(askId, ids.length === 1 ? VERDICT.notOwner : VERDICT.moving, 0, 0, 0)
      else verdicts.pushGranted(askId, `token-${uid}`, 1)
    }

    expect((await buy(5)).body.token).toBe('token-5')
    expect(ids).toEqual(Array(3).fill(ids[0]))
  })

  test('an ask that a silent owner holds is asked at the new one as soon as the table changes', async () => {
    answer = () => undefined
    const other = await startMiddle((uid, askId, verdicts) => verdicts.pushGranted(askId, `b-${uid}`, 1), 'middle-2')
    const nodes = [
      { id: 'middle-1', address: middle.address },
      { id: 'middle-2', address: other.address },
    ]
    await publish('slots', { epoch: 2, nodes, owners: Array(1024).fill(0) })
    await waitFor('both links', () => limiter.links.readyCount === 2)

    const bought = buy(5)
    await waitFor('the ask', () => middle.asked.length === 1)
    await publish('slots', { epoch: 3, nodes, owners: Array(1024).fill(1) })

    expect((await bought).body.token).toBe('b-5')
    await other.server.stop()
  })

  test('an owner that is dialed only now is waited for', async () => {
    const other = await startMiddle((uid, askId, verdicts) => verdicts.pushGranted(askId, `b-${uid}`, 1), 'middle-2')
    const nodes = [{ id: 'middle-2', address: other.address }]
    await publish('slots', { epoch: 2, nodes, owners: Array(1024).fill(0) })

    expect((await buy(5)).body.token).toBe('b-5')
    await other.server.stop()
  })

  test('an ask whose link is lost is asked again when the link stands again', async () => {
    answer = (_uid, _askId) => undefined
    const bought = buy(5)
    await waitFor('the ask', () => middle.asked.length === 1)
    answer = (uid, askId, verdicts) => verdicts.pushGranted(askId, `again-${uid}`, 1)
    const { port } = middle
    await middle.server.stop()
    middle = await startMiddle((uid, askId, verdicts) => answer(uid, askId, verdicts), 'middle-1', port)

    const got = await bought
    // In time it is granted; on a slow machine its deadline may come first.
    expect([got.body.token, got.body.code]).toContain(got.status === 200 ? 'again-5' : 'unavailable')
  })

  test('access limits change live, and forwarded addresses count only from trusted proxies', async () => {
    const limit: AccessLimit = { scope: 'uid', algorithm: 'fixed-window', seconds: 60, maxCount: 2 }
    await publish('activity:7', { ...ACTIVITY, accessLimits: [limit] })
    const got = [await buy(5), await buy(5), await buy(5), await buy(6)]

    expect(got.map((one) => one.status)).toEqual([200, 200, 429, 200])
    expect(got[2]?.body).toMatchObject({ code: 'rate_limited' })
    expect(got[2]?.body.retryAfterMs).toBeGreaterThan(0)

    await publish('activity:7', { ...ACTIVITY, accessLimits: [{ ...limit, scope: 'ip', maxCount: 1 }] })
    const from = (address: string) => call(`/v1/buy/${ticket(5)}`, { uid: 5, headers: { 'x-forwarded-for': address } })
    const second = [await from('9.9.9.9'), await from('1.1.1.1, 9.9.9.9'), await from('8.8.8.8')]
    expect(second.map((one) => one.status)).toEqual([200, 429, 200])
  })

  test('who has not reserved is refused where a reservation is needed', async () => {
    const reservation = { required: true, opensAt: now - 1_000, closesAt: now + 60_000 }
    expect((await call('/v1/activities/7/reservation', { method: 'POST', uid: 5 })).body.code).toBe(
      'reservation_closed',
    )
    await publish('activity:7', { ...ACTIVITY, reservation })
    const first = await call('/v1/activities/7/reservation', { method: 'POST', uid: 5 })
    const again = await call('/v1/activities/7/reservation', { method: 'POST', uid: 5 })
    await waitFor('the seats', async () => (await buy(6)).body.code === 'not_reserved')

    expect([first.status, again.status]).toEqual([201, 200])
    expect((await buy(5)).status).toBe(200)
    expect((await call('/v1/activities/7/skus/1/path', { uid: 6 })).body.code).toBe('not_reserved')
    await waitFor('a seat taken elsewhere', async () => {
      reservations.uids.add(6)
      return (await buy(6)).status === 200
    })
    reservations.isDown = true
    expect((await call('/v1/activities/7/reservation', { method: 'POST', uid: 8 })).status).toBe(503)
  })

  test('activities are shown with an ETag, and follow the catalog at once', async () => {
    const shown = await call('/v1/activities/7')
    const etag = shown.headers.get('etag') ?? ''
    const unchanged = await call('/v1/activities/7', { headers: { 'if-none-match': etag } })
    await publish('status:7:1', status(true))
    const after = await call('/v1/activities/7', { headers: { 'if-none-match': etag } })

    expect(shown.headers.get('cache-control')).toBe('public, max-age=1')
    expect(shown.body).toMatchObject({ id: 7, state: 'open', reservation: { required: false, count: 0 } })
    expect(shown.body.skus[0]).toEqual({
      ...sku(1),
      imageUrl: '',
      state: 'releasing',
      soldOut: false,
      limitPerBuyer: 1,
      stock: undefined,
      activityId: undefined,
    })
    expect(unchanged.status).toBe(304)
    expect(after.body.skus[0]).toMatchObject({ soldOut: true, state: 'soldOut' })
    expect((await call('/v1/activities')).body.activities).toHaveLength(1)
    expect((await call('/v1/activities/8')).status).toBe(404)
    expect((await call('/v1/time')).body.now).toBeGreaterThan(now - 1)
  })

  test.each([
    ['no JSON', '{', 400, 'bad_request'],
    ['no uid', '{}', 400, 'bad_request'],
    ['a uid of 0', '{"uid":0}', 400, 'bad_request'],
    ['a uid beyond 2^53', '{"uid":9007199254740993}', 400, 'bad_request'],
    ['a fraction', '{"uid":1.5}', 400, 'bad_request'],
    ['an array', '[1]', 400, 'bad_request'],
    ['a number as identity token', '{"idToken":5}', 400, 'bad_request'],
    ['a bad identity token', '{"idToken":"bad"}', 401, 'no_session'],
    ['keys that cannot be had', '{"idToken":"down"}', 503, 'unavailable'],
    ['a good identity token', '{"idToken":"good"}', 200, undefined],
  ])('a session asked for with %s', async (_what, body, status, code) => {
    const got = await call('/v1/session', { method: 'POST', body, headers: { 'content-type': 'application/json' } })

    expect(got.status).toBe(status)
    expect(got.body.code).toBe(code)
  })
})
