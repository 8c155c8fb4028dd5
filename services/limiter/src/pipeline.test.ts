import type { CatalogView } from '@bigtap/catalog'
import {
  type AbuseVerdict,
  type ActivityDoc,
  DEFAULT_WAITING,
  NO_CHALLENGE,
  NO_RESERVATION,
  type Tier,
} from '@bigtap/domain'
import { ACCESS_FLAG, ACCESS_OUTCOME } from '@bigtap/protocol'
import { SeededRandom } from '@bigtap/testkit'
import { createKeyRing, issueSession, issueTicket } from '@bigtap/token'
import { beforeEach, expect, test } from 'vitest'
import { AccessLimits } from './core/access-limits.ts'
import { AskTable } from './core/ask-table.ts'
import { Gate } from './core/gate.ts'
import { Grader } from './core/grade.ts'
import { HeldBack } from './core/held-back.ts'
import { type AccessLog, NO_PROFILE, type VerdictBook } from './core/ports.ts'
import { problem } from './core/replies.ts'
import type { Reply } from './core/reply.ts'
import { Requester } from './core/requester.ts'
import { Sessions } from './core/session.ts'
import { Shedding } from './core/shedding.ts'
import { StageOne } from './core/stage-one.ts'
import { Tickets } from './core/tickets.ts'
import type { Exchange } from './edge/edge.ts'
import { HeldRequests } from './held-requests.ts'
import { Pipeline } from './pipeline.ts'

const NOW = 1_800_000_000_000
const PROXY = '10.0.0.1'
const ring = createKeyRing({ current: 'token-secret-of-the-test' })
const ACTIVITY: ActivityDoc = {
  ...{ id: 7, title: 'Phone', state: 'open', opensAt: NOW - 1_000, closesAt: NOW + 600_000, rule: 'unlimited' },
  ...{ admission: 'direct', waiting: DEFAULT_WAITING, challenge: NO_CHALLENGE, reservation: NO_RESERVATION },
  ...{ skuIds: [1], accessLimits: [], stage: 'middle' },
}
const SKU = { id: 1, activityId: 7, title: 'Black', priceCents: 100, currency: 'EUR', stock: 5 }
const catalog = {
  activity: (id: number) => (id === 7 ? ACTIVITY : undefined),
  sku: (_activityId: number, id: number) => (id === 1 ? SKU : undefined),
  status: () => undefined,
} as unknown as CatalogView

interface Row {
  readonly uid: number
  readonly address: string
  readonly outcome: number
  readonly flags: number
  readonly tier: number
}

let now: number
let rows: Row[]
let sent: number[]
let said: AbuseVerdict | undefined
let pipeline: Pipeline
let asks: AskTable
let shedding: Shedding

const verdictOf = (uid: number, tier: Tier): AbuseVerdict => ({
  ...{ id: '0', kind: 'uid', key: `${uid}`, tier, reason: 'test', score: 1, at: NOW, expiresAt: NOW + 60_000 },
  ...{ isShadow: false, by: 'operator' },
})

beforeEach(() => {
  now = NOW
  rows = []
  sent = []
  said = undefined
  const clock = { now: () => now, monotonic: () => now - NOW + 1 }
  const random = new SeededRandom(1)
  asks = new AskTable({ capacity: 8, askMsMax: 100 })
  shedding = new Shedding(
    { tickMs: 20 },
    {
      ...{ asks, laneOf: () => 0, onNoLink: () => undefined },
      send: (_askId, uid) => sent.push(uid) > 0,
      onShed: (askId) => asks.settle(askId, problem('internal')),
    },
  )
  const verdicts: VerdictBook = {
    tierOf: (uid) => (said !== undefined && said.key === `${uid}` ? said.tier : 0),
    verdictOf: (uid) => (said?.key === `${uid}` ? said : undefined),
  }
  const rules = new StageOne({ seed: 3 })
  const log: AccessLog = {
    note: ({ uid, address }, _call, outcome, flags, tier) => void rows.push({ uid, address, outcome, flags, tier }),
  }
  pipeline = new Pipeline({
    ...{ clock, random, ring, asks, asker: shedding, shedding, log, cohortKey: { a: 1, b: 2 } },
    ...{
      gate: new Gate(catalog),
      sessions: new Sessions(ring),
      tickets: new Tickets(ring),
      limits: new AccessLimits(),
    },
    ...{
      heldBack: new HeldBack(),
      grader: new Grader({ rules, verdicts, profile: NO_PROFILE }),
      held: new HeldRequests({ log, count: () => undefined }),
    },
    ...{ seats: { hasSeat: () => true }, isTrusted: (address) => address === PROXY, count: () => undefined },
  })
})

const ticketOf = (uid: number) =>
  issueTicket(ring, { uid, activityId: 7, skuId: 1, notBefore: ACTIVITY.opensAt, expiresAt: now + 60_000 })

/** Buys as a buyer would; the reply, also one that came later. */
function buy(uid: number, more: { ticket?: string; from?: string; forwarded?: string } = {}) {
  const { ticket = ticketOf(uid), from = '10.0.0.9', forwarded = '' } = more
  const replies: Reply[] = []
  const headers: Record<string, string> = {
    authorization: `Bearer ${issueSession(ring, { uid, expiresAt: now + 60_000 })}`,
    'x-forwarded-for': forwarded,
  }
  const exchange: Exchange = {
    ...{ method: 'GET', path: `/v1/buy/${ticket}`, remoteAddress: () => from, readBody: () => undefined },
    header: (name) => headers[name] ?? '',
    reply: (reply) => replies.push(reply),
    hold: () => ({ reply: (reply) => void replies.push(reply) }),
  }
  const reply = pipeline.onBuy(exchange, ticket)
  if (reply !== undefined) replies.push(reply)
  return { replies, outcome: replies[0]?.outcome, closes: replies[0]?.closes }
}

test('who is shut out by a verdict is refused before the ticket is opened, and loses the connection; others are not', () => {
  said = verdictOf(5, 5)
  expect(buy(5, { ticket: ticketOf(6) })).toMatchObject({ outcome: 'blocked', closes: true })
  expect(buy(6).replies).toEqual([])
  expect(sent).toEqual([6])
  expect(rows).toEqual([{ uid: 5, address: '10.0.0.9', outcome: ACCESS_OUTCOME.blocked, flags: 0, tier: 5 }])
})

test('a verdict that has ended, or is only shadowed, or of a milder tier, shuts nobody out', () => {
  for (const more of [{ expiresAt: NOW }, { isShadow: true }, { tier: 4 as Tier }]) {
    said = { ...verdictOf(5, 5), ...more }
    expect(buy(5).outcome).not.toBe('blocked')
    asks.sweep(1_000, () => problem('internal'))
  }
})

test("a new buyer's first request passes, from whatever address, while others there are blocked", () => {
  said = verdictOf(5, 5)
  for (let n = 0; n < 50; n++) buy(5)
  for (let n = 0; n < 50; n++) buy(5, { ticket: 'x' })

  expect(buy(8).replies).toEqual([])
  expect(sent).toEqual([8])
})

test('tickets of others and guessed shapes make a buyer worse at once, and the log says why', () => {
  expect(buy(5, { ticket: ticketOf(6) }).outcome).toBe('bad_ticket')
  expect(buy(5, { ticket: 'guess' }).outcome).toBe('bad_ticket')
  buy(5)

  expect(rows.map(({ flags }) => flags)).toEqual([ACCESS_FLAG.foreignTicket, ACCESS_FLAG.badSignature])
  asks.sweep(1_000, () => problem('internal'))
  expect(rows.at(-1)).toMatchObject({ uid: 5, tier: 2 })
})

test('an address that is forwarded counts only from a trusted proxy, however it changes', () => {
  for (let n = 0; n < 20; n++) buy(5, { ticket: 'guess', forwarded: `192.0.2.${n}` })
  expect(new Set(rows.map(({ address }) => address))).toEqual(new Set(['10.0.0.9']))

  buy(6, { ticket: 'guess', from: PROXY, forwarded: '192.0.2.1, 192.0.2.2' })
  expect(rows.at(-1)).toMatchObject({ address: '192.0.2.2' })
})

test('when every place is taken by an ask under way, one more is shed, and counted', () => {
  for (let uid = 11; uid <= 18; uid++) expect(buy(uid).replies).toEqual([])
  expect(buy(19).outcome).toBe('overloaded')
  expect(shedding.shed[0]).toBe(1)
})

test('who is shed costs no ticket, and the worst lose their connection', () => {
  // Middle says that it can take only the best tier.
  shedding.onShedFrom(0, 16, 1)
  said = verdictOf(5, 4)
  expect(buy(5, { ticket: ticketOf(6) })).toMatchObject({ outcome: 'overloaded', closes: false })
  said = { ...verdictOf(5, 5), expiresAt: NOW }
  expect(buy(5)).toMatchObject({ outcome: 'overloaded', closes: true })
  expect(buy(6).replies).toEqual([])
  expect(rows.map(({ outcome, tier }) => [outcome, tier])).toEqual([
    [ACCESS_OUTCOME.shed, 4],
    [ACCESS_OUTCOME.shed, 5],
  ])
})

test('who would be shed as an ask gets no path either, and is not counted as an ask', () => {
  shedding.onShedFrom(0, 16, 1)
  const who = new Requester().begin('10.0.0.9', '')
  who.uid = 5
  who.activityId = 7
  expect(pipeline.keptBackReply(who)).toBeUndefined()
  who.tier = 1
  expect(pipeline.keptBackReply(who)).toMatchObject({ outcome: 'overloaded', closes: false })
  who.tier = 5
  expect(pipeline.keptBackReply(who)).toMatchObject({ outcome: 'overloaded', closes: true })
  expect([...shedding.shed]).toEqual([0, 0, 0, 0, 0, 0])
})
