/** Challenges over real HTTP, on both edges; no Middle is needed for the hidden path. */

import { type CatalogFeed, Mirror } from '@bigtap/catalog'
import { type ActivityDoc, DEFAULT_WAITING, NO_CHALLENGE, NO_RESERVATION } from '@bigtap/domain'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import { ACCESS_CALL, ACCESS_FLAG, ACCESS_OUTCOME } from '@bigtap/protocol'
import { systemClock, systemRandom } from '@bigtap/runtime'
import { waitFor } from '@bigtap/testkit'
import { createKeyRing, issueSession } from '@bigtap/token'
import { solveChallenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/sha'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AccessLog } from './core/ports.ts'
import { createLimiter, type Limiter } from './limiter.ts'

const ring = createKeyRing({ current: 'token-secret-of-the-test' })
const now = Date.now()
const PATH = '/v1/activities/7/skus/1/path'
const ACTIVITY: ActivityDoc = {
  ...{ id: 7, title: 'Phone', state: 'armed', stage: 'middle', opensAt: now + 60_000, closesAt: now + 600_000 },
  ...{ rule: 'unlimited', admission: 'direct', waiting: DEFAULT_WAITING, reservation: NO_RESERVATION },
  ...{ challenge: { ...NO_CHALLENGE, mode: 'all', tries: 100 }, skuIds: [1], accessLimits: [] },
}
const SKU = { id: 1, activityId: 7, title: 'Black', priceCents: 100, currency: 'EUR', stock: 5 }

class MemoryFeed implements CatalogFeed {
  newest = 0
  docs: { key: string; revision: number; body: unknown }[] = []
  publish(key: string, body: unknown) {
    this.docs = [...this.docs.filter((one) => one.key !== key), { key, revision: ++this.newest, body }]
  }
  head = async () => ({ revision: this.newest, digest: '', epoch: 0 })
  readSince = async (revision: number) => this.docs.filter((one) => one.revision > revision)
}

const noReservations = {
  reserve: async () => true,
  head: async () => ({ logId: 'run:1', generation: 1, positions: 0, count: 0 }),
  async *read() {},
}

/** Rows of the request log: uid, call, outcome, flags. */
const rows: number[][] = []
const log: AccessLog = {
  note: ({ uid }, call, outcome, flags) => void rows.push([uid, call, outcome, flags]),
}

let feed: MemoryFeed
let mirror: Mirror
let limiter: Limiter
let origin: string

async function call(path: string, uid: number, headers: Record<string, string> = {}) {
  const authorization = `Bearer ${issueSession(ring, { uid, expiresAt: Date.now() + 60_000 })}`
  const response = await fetch(`${origin}${path}`, { headers: uid ? { authorization, ...headers } : headers })
  return { status: response.status, headers: response.headers, body: JSON.parse((await response.text()) || '{}') }
}

async function publish(activity: ActivityDoc) {
  feed.publish('activity:7', activity)
  await mirror.pull()
}

async function solve(uid: number): Promise<string> {
  const { challenge } = (await call(PATH, uid)).body
  const solution = await solveChallenge({ challenge, deriveKey })
  return Buffer.from(JSON.stringify({ challenge, solution })).toString('base64')
}

describe.each(['uws', 'node'] as const)('challenges on the %s edge', (edge) => {
  beforeEach(async () => {
    feed = new MemoryFeed()
    feed.publish('activity:7', ACTIVITY)
    feed.publish('sku:7:1', SKU)
    mirror = new Mirror(
      { service: 'limiter', pollMs: 50 },
      { catalog: feed, logger: nullLogger, clock: systemClock, metrics: nullMetrics },
    )
    const settings = {
      host: '127.0.0.1',
      port: 0,
      edge,
      nodeId: 'limiter-1',
      clusterSecret: 'cluster-secret-of-the-test',
    }
    const times = { asksMax: 64, askMsMax: 100, sessionMs: 60_000, ticketMs: 60_000 }
    limiter = createLimiter(
      { ...settings, ...times, devLogin: true, isSecure: false, isTrusted: () => false },
      {
        ...{ mirror, reservations: noReservations, ring, verifyIdToken: undefined, log, logger: nullLogger },
        ...{ metrics: nullMetrics, clock: systemClock, random: systemRandom },
      },
    )
    await mirror.start()
    origin = `http://127.0.0.1:${await limiter.start()}`
  })
  afterEach(async () => {
    mirror.stop()
    await limiter.stop()
  })

  test('a buyer solves it before the opening, and has the path at once when the sale opens', async () => {
    const early = await call(PATH, 5, { 'x-challenge': await solve(5) })

    expect(early.status).toBe(425)
    expect(early.body).toMatchObject({ code: 'not_started', opensAt: ACTIVITY.opensAt })
    expect(early.headers.get('set-cookie')).toMatch(/^bt_pass=.+; Path=\/v1\/activities\/7\/; HttpOnly/)
    const { pass } = early.body
    await publish({ ...ACTIVITY, opensAt: Date.now() - 1 })
    const byHeader = await call(PATH, 5, { 'x-challenge-pass': pass })
    const byCookie = await call(PATH, 5, { cookie: `a=b; bt_pass=${pass}` })
    expect([byHeader.status, byCookie.status]).toEqual([200, 200])
    expect(byHeader.body.path).toMatch(/^\/v1\/buy\/7\.1\./)
    expect((await call(PATH, 6, { 'x-challenge-pass': pass })).status).toBe(428)
  })

  test('after the opening the answer brings path and pass together', async () => {
    await publish({ ...ACTIVITY, opensAt: now - 1_000 })
    const got = await call(PATH, 5, { 'x-challenge': await solve(5) })

    expect(got.status).toBe(200)
    expect(got.body.path).toBeDefined()
    expect(got.body.passExpiresAt).toBeGreaterThan(Date.now())
  })

  test('who is not asked yet, has no session or comes too late is told what there always was to tell', async () => {
    expect((await call(PATH, 0)).body.code).toBe('not_started')
    await publish({ ...ACTIVITY, challenge: { ...ACTIVITY.challenge, fromSeconds: 10 } })
    expect((await call(PATH, 5)).body.code).toBe('not_started')
    await publish({ ...ACTIVITY, opensAt: now - 1_000 })
    expect((await call(PATH, 0)).body.code).toBe('no_session')
    await publish({ ...ACTIVITY, state: 'closed', opensAt: now - 1_000 })
    expect((await call(PATH, 5)).body.code).toBe('sold_out')
  })

  test('challenges that are switched on in a running sale are asked from then on', async () => {
    await publish({ ...ACTIVITY, opensAt: now - 1_000, challenge: NO_CHALLENGE })
    expect((await call(PATH, 5)).status).toBe(200)
    await publish({ ...ACTIVITY, opensAt: now - 1_000 })

    const asked = await call(PATH, 5)
    expect(asked.status).toBe(428)
    expect(asked.headers.get('content-type')).toBe('application/problem+json')
    expect(asked.headers.get('cache-control')).toBe('no-store')
  })

  test('who waits is told for how long, in the header too', async () => {
    const asked = await call(PATH, 5, { 'x-challenge': 'wait' })
    const { voucher } = asked.body

    expect(asked.status).toBe(428)
    expect(asked.headers.get('retry-after')).toBe('20')
    const again = await call(PATH, 5, { 'x-challenge': voucher })
    expect(again.status).toBe(428)
    expect(again.body).toMatchObject({ voucher, validFrom: asked.body.validFrom })
  })

  test('the request log says who was asked, who solved it and who sent another’s answer', async () => {
    const answer = await solve(5)
    rows.length = 0
    await call(PATH, 6)
    await call(PATH, 6, { 'x-challenge': answer })
    await call(PATH, 5, { 'x-challenge': answer })

    expect(rows).toEqual([
      [6, ACCESS_CALL.path, ACCESS_OUTCOME.challenged, 0],
      [6, ACCESS_CALL.path, ACCESS_OUTCOME.challenged, ACCESS_FLAG.badChallenge],
      [5, ACCESS_CALL.path, ACCESS_OUTCOME.notStarted, 0],
    ])
  })

  test('no header is too large, too strange or too old to be answered', async () => {
    const used = await solve(5)
    await call(PATH, 5, { 'x-challenge': used })
    const headers = [
      used,
      'x',
      '%',
      'wait.',
      'e30=',
      'A'.repeat(3_000),
      Buffer.from('[{"a":'.repeat(200)).toString('base64'),
    ]

    for (const header of headers) expect((await call(PATH, 5, { 'x-challenge': header })).status).toBe(428)
    const huge = await call(PATH, 5, { 'x-challenge': 'A'.repeat(100_000) }).catch(() => ({ status: 0 }))
    expect([0, 428, 431]).toContain(huge.status) // the native edge reads what comes in one piece
    await waitFor('a buyer who is served as ever', async () => (await call(PATH, 6)).status === 428)
  })
})
