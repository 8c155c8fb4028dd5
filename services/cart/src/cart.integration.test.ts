import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { createEdge, EDGE_LIMITS } from '@bigtap/http'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import {
  decodeLedgerCalls,
  encodeLedgerReplies,
  KIND,
  type LedgerCall,
  type LedgerReplyInit,
  OUTCOME,
} from '@bigtap/protocol'
import { SeededRandom } from '@bigtap/testkit'
import { createKeyRing, issueAdmission, issueSession } from '@bigtap/token'
import { createServer, LedgerClient, type LedgerFault, type Link } from '@bigtap/transport'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { addCartRoutes } from './routes.ts'

/** A counter of its own memory: the first call of a token makes the order, a repeat gets it again. */
const seen = new Map<string, LedgerReplyInit>()
const frames: LedgerCall[][] = []
let mood: 'answers' | 'is silent' | 'answers one by one' = 'answers'

const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const random = new SeededRandom(7)
const ring = createKeyRing({ current: 'a secret of the tests' })
const parts = { logger: nullLogger, metrics: nullMetrics, clock, random }
const identity = { nodeId: 'test', role: 'counter', clusterSecret: 'cluster secret of the tests' }

const counter = createServer(
  { ...identity, host: '127.0.0.1', port: 0 },
  {
    ...parts,
    onFrame: (link: Link, kind, correlation, body) => {
      if (kind !== KIND.reserve) return
      const calls = decodeLedgerCalls(body)
      frames.push(calls)
      if (mood === 'is silent') return
      const replies = calls.map(replyTo)
      const groups = mood === 'answers' ? [replies] : replies.reverse().map((one) => [one])
      for (const group of groups) link.send(KIND.reserveReply, correlation, encodeLedgerReplies(group))
    },
  },
)
const edge = createEdge({ ...EDGE_LIMITS, headersMsMax: 500, requestMsMax: 1_000 }, parts)
let ledger: LedgerClient
let origin: string

function replyTo({ callId, tokenId, uid, activityId, skuId, quantity }: LedgerCall): LedgerReplyInit {
  if (skuId === 99) return { callId, outcome: OUTCOME.soldOut }
  const known = seen.get(tokenId)
  if (known) return { ...known, callId, outcome: OUTCOME.repeated }
  const order = { orderId: `o${tokenId}`, uid, activityId, skuId, quantity, priceCents: 4_900, payBy: 5, state: 'held' }
  seen.set(tokenId, { ...order, callId, outcome: OUTCOME.ok })
  return { ...order, callId, outcome: OUTCOME.ok }
}

beforeAll(async () => {
  const { port } = await counter.start()
  const dialing = { ...identity, nodeId: 'cart-1', role: 'cart', address: `127.0.0.1:${port}` }
  ledger = new LedgerClient({ ...dialing, deadlineMs: 100, callsMax: 64, mergeMax: 128 }, parts)
  ledger.start()
  await ledger.dialer.ready(2_000)
  addCartRoutes(edge, { ring, ledger, isShut: () => false, clock, metrics: nullMetrics })
  origin = await edge.listen({ host: '127.0.0.1', port: 0 })
})
beforeEach(() => {
  mood = 'answers'
  frames.length = 0
})
afterAll(async () => {
  await edge.close()
  await ledger.stop()
  await counter.stop()
})

const sessionOf = (uid: number) => issueSession(ring, { uid, expiresAt: Date.now() + 60_000 })
const tokenOf = (uid: number, more: { skuId?: number; expiresAt?: number } = {}) =>
  issueAdmission(ring, {
    tokenId: randomBytes(16).toString('hex'),
    uid,
    activityId: 1,
    skuId: 2,
    quantity: 1,
    expiresAt: Date.now() + 60_000,
    ...more,
  })
async function post(body: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${origin}/v1/cart`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  }
}
const buy = (uid: number, token: string) =>
  post(JSON.stringify({ token }), { authorization: `Bearer ${sessionOf(uid)}` })

test('a token becomes an order, and a repeat gets the same body with 200', async () => {
  const token = tokenOf(5)

  const first = await buy(5, token)
  const again = await buy(5, token)

  expect(first.status).toBe(201)
  expect(first.body).toMatchObject({ activityId: 1, skuId: 2, quantity: 1, state: 'held', priceCents: 4_900 })
  expect(again.status).toBe(200)
  expect(again.body).toEqual(first.body)
})

test('a token that was used in time is answered the same after it has run out', async () => {
  const token = tokenOf(5, { expiresAt: Date.now() + 50 })
  const first = await buy(5, token)
  await new Promise((resolve) => setTimeout(resolve, 60))

  const again = await buy(5, token)

  expect(again.status).toBe(200)
  expect(again.body).toEqual(first.body)
})

test('the session may come as a cookie', async () => {
  const answer = await post(JSON.stringify({ token: tokenOf(9) }), { cookie: `a=b; bt_session=${sessionOf(9)}` })

  expect(answer.status).toBe(201)
})

test('calls of one turn leave in one frame, and replies are taken in any order and in any number of frames', async () => {
  mood = 'answers one by one'
  const claims = Array.from({ length: 20 }, (_, index) => ({
    ...{ tokenId: randomBytes(16).toString('hex'), uid: 100 + index, activityId: 1, skuId: 2, quantity: 1 },
    expiresAt: Date.now() + 60_000,
  }))

  const replies = await Promise.all(claims.map((one) => ledger.reserve(one)))

  expect(replies.map(({ uid }) => uid)).toEqual(claims.map(({ uid }) => uid))
  expect(frames.length).toBe(1)
})

test('a counter that is silent is answered 503 in time, and the same token succeeds later', async () => {
  const token = tokenOf(5)
  mood = 'is silent'
  const startedAt = performance.now()
  const refused = await buy(5, token)
  const tookMs = performance.now() - startedAt
  mood = 'answers'

  const later = await buy(5, token)

  expect(refused.status).toBe(503)
  expect(refused.headers.get('content-type')).toBe('application/problem+json')
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  expect(refused.body).toMatchObject({ code: 'unavailable', status: 503, retryAfterMs: expect.any(Number) })
  expect(tookMs).toBeLessThan(2_000)
  expect(later.status).toBe(201)
})

test('more calls than fit are shed at once', async () => {
  mood = 'is silent'
  const claims = { uid: 200, activityId: 1, skuId: 2, quantity: 1, expiresAt: Date.now() + 60_000 }

  const calls = Array.from({ length: 65 }, () =>
    ledger.reserve({ ...claims, tokenId: randomBytes(16).toString('hex') }).catch((fault: LedgerFault) => fault.code),
  )

  expect(await calls[64]).toBe('OVERLOADED')
  expect(new Set(await Promise.all(calls.slice(0, 64)))).toEqual(new Set(['TIMEOUT']))
})

test.each([
  ['no session', '{}', {}, 401, 'no_session'],
  ['a body that is no JSON', '{"token":', { session: 5 }, 400, 'bad_request'],
  ['a body that is a list', '[]', { session: 5 }, 400, 'bad_request'],
  ['no token', '{}', { session: 5 }, 422, 'bad_token'],
  ['a token that is a number', '{"token":9007199254740993}', { session: 5 }, 422, 'bad_token'],
  ['a forged token', '{"token":"AAAA"}', { session: 5 }, 422, 'bad_token'],
  ['a body over the bound', JSON.stringify({ token: 'x'.repeat(20_000) }), { session: 5 }, 413, 'body_too_large'],
])('%s gets its own answer', async (_name, body, { session }: { session?: number }, status, code) => {
  const answer = await post(body, session === undefined ? {} : { authorization: `Bearer ${sessionOf(session)}` })

  expect([answer.status, answer.body.code]).toEqual([status, code])
})

test('a token of another buyer and a sold-out product are refused by name', async () => {
  expect(await buy(6, tokenOf(5))).toMatchObject({ status: 422, body: { code: 'bad_token' } })
  expect(await buy(5, tokenOf(5, { skuId: 99 }))).toMatchObject({ status: 410, body: { code: 'sold_out' } })
})

test('another content type, an unknown path and a slow sender get problems too', async () => {
  const text = await post('token=1', { 'content-type': 'text/plain' })
  const unknown = await fetch(`${origin}/v1/basket`)
  const slow = await sendSlowly('POST /v1/cart HTTP/1.1\r\nhost: x\r\n')

  expect(text).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } })
  expect(unknown.status).toBe(404)
  expect(await unknown.json()).toMatchObject({ code: 'not_found' })
  expect(slow).toMatch(/^HTTP\/1\.1 408/)
})

/** Sends the beginning of a request and never its end; resolves with what the server says before it closes. */
function sendSlowly(text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1', () => socket.write(text))
    let heard = ''
    socket.on('data', (chunk) => {
      heard += chunk.toString()
    })
    socket.on('close', () => resolve(heard))
  })
}
