import {
  type ActivityDoc,
  type ChallengeDoc,
  DEFAULT_WAITING,
  NO_CHALLENGE,
  NO_RESERVATION,
  type Tier,
} from '@bigtap/domain'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import { ACCESS_FLAG } from '@bigtap/protocol'
import { FakeClock, SeededRandom } from '@bigtap/testkit'
import { createKeyRing, issuePass, type KeyRing, verifyPass } from '@bigtap/token'
import { type Challenge, solveChallenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/sha'
import { beforeEach, expect, test } from 'vitest'
import {
  CHALLENGE_MS,
  CHALLENGES_IN_FLIGHT_MAX,
  ChallengeDesk,
  type Checked,
  type OnceStore,
  VOUCHER_MS,
} from './challenge-desk.ts'
import type { Reply } from './core/reply.ts'

// The library looks at the machine's clock for the expiry.
const NOW = Date.now()
const ring = createKeyRing({ current: 'token-secret-of-the-test' })
const terms: ChallengeDoc = { ...NO_CHALLENGE, mode: 'all', tries: 100 }
const activityOf = (challenge: ChallengeDoc, id = 7): ActivityDoc => ({
  ...{ id, title: 'Phone', state: 'armed', stage: 'middle', opensAt: NOW + 60_000, closesAt: NOW + 600_000 },
  ...{ rule: 'unlimited', admission: 'direct', waiting: DEFAULT_WAITING, challenge, reservation: NO_RESERVATION },
  ...{ skuIds: [1], accessLimits: [] },
})
const activity = activityOf(terms)
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

/** One Redis for all desks of a test. */
class MemoryOnce implements OnceStore {
  readonly names = new Set<string>()
  isAway = false
  async take(name: string) {
    if (this.isAway) throw new Error('no answer')
    const isFirst = !this.names.has(name)
    this.names.add(name)
    return isFirst
  }
}

let clock: FakeClock
let once: MemoryOnce
let desk: ChallengeDesk
const newDesk = (keys: KeyRing = ring) =>
  new ChallengeDesk({ ring: keys, once, clock, random: new SeededRandom(7), logger: nullLogger, metrics: nullMetrics })

beforeEach(() => {
  clock = new FakeClock(NOW)
  once = new MemoryOnce()
  desk = newDesk()
})

interface Seen {
  readonly reply: Reply | undefined
  readonly pass: string | undefined
  readonly flags: number
}

async function ask(
  uid = 5,
  answer = '',
  more: { desk?: ChallengeDesk; tier?: Tier; pass?: string; doc?: ActivityDoc } = {},
): Promise<Seen> {
  const { tier = 0, pass = '', doc = activity } = more
  const found = await (more.desk ?? desk).check(doc, { uid, activityId: doc.id, tier }, { pass, cookie: '', answer })
  if (found === undefined) return { reply: undefined, pass: undefined, flags: 0 }
  if ('status' in found) return { reply: found, pass: undefined, flags: 0 }
  const { earned, flags } = found as Checked
  return earned
    ? { reply: undefined, pass: earned.pass, flags }
    : { reply: (found as { reply: Reply }).reply, pass: undefined, flags }
}
const challengeOf = ({ reply }: Seen): Challenge => JSON.parse(reply?.body ?? '{}').challenge
async function solve(challenge: Challenge): Promise<string> {
  return encode({ challenge, solution: await solveChallenge({ challenge, deriveKey }) })
}

test('who solves the challenge has a pass that every limiter takes', async () => {
  const { pass = '' } = await ask(5, await solve(challengeOf(await ask())))

  expect(verifyPass(ring, pass, { uid: 5, activityId: 7, nowMs: NOW })).toBe('ok')
  expect(await ask(5, '', { pass, desk: newDesk() })).toEqual({ reply: undefined, pass: undefined, flags: 0 })
  clock.advance(terms.passSeconds * 1_000)
  expect((await ask(5, '', { pass })).reply?.status).toBe(428)
})

test('a pass is no pass for another buyer, or another activity', async () => {
  const pass = issuePass(ring, { uid: 5, activityId: 7, expiresAt: NOW + 60_000 })

  expect((await ask(6, '', { pass })).reply?.status).toBe(428)
  expect((await ask(5, '', { pass, doc: activityOf(terms, 8) })).reply?.status).toBe(428)
})

test('nobody is asked before the time, in mode off, or with a good grade in mode suspicious', async () => {
  const early = activityOf({ ...terms, fromSeconds: 30 })
  const suspicious = activityOf({ ...terms, mode: 'suspicious' })

  expect((await ask(5, '', { doc: early })).reply).toBeUndefined()
  expect((await ask(5, '', { doc: activityOf({ ...terms, mode: 'off' }) })).reply).toBeUndefined()
  expect((await ask(5, '', { doc: suspicious, tier: 1 })).reply).toBeUndefined()
  expect((await ask(5, '', { doc: suspicious, tier: 2 })).reply?.status).toBe(428)
  clock.advance(30_000)
  expect((await ask(5, '', { doc: early })).reply?.status).toBe(428)
})

test('who refreshes gets the same challenge again, another buyer another one', async () => {
  const first = challengeOf(await ask())

  expect(challengeOf(await ask())).toEqual(first)
  expect(challengeOf(await ask(6)).parameters.nonce).not.toBe(first.parameters.nonce)
  clock.advance(CHALLENGE_MS / 2)
  expect(challengeOf(await ask()).parameters.nonce).not.toBe(first.parameters.nonce)
})

test('the work doubles with each tier', async () => {
  const triesOf = async (tier: Tier) => challengeOf(await ask(5, '', { tier })).parameters.data?.triesMax

  expect([await triesOf(0), await triesOf(1), await triesOf(5)]).toEqual([200, 400, 6_400])
})

test('a solution is used once, here and at another limiter', async () => {
  const answer = await solve(challengeOf(await ask()))
  const other = newDesk()

  const all = await Promise.all([ask(5, answer), ask(5, answer), ask(5, answer, { desk: other })])

  expect(all.filter(({ pass }) => pass !== undefined)).toHaveLength(1)
  const refused = all.filter(({ pass }) => pass === undefined)
  expect(refused.map(({ flags }) => flags)).toEqual([ACCESS_FLAG.badChallenge, ACCESS_FLAG.badChallenge])
  expect(challengeOf(refused[0] as Seen)).toBeDefined()
  expect(desk.counts.replayed + other.counts.replayed).toBe(2)
})

test('while Redis is away a solution is used once in each process, and that is counted', async () => {
  once.isAway = true
  const answer = await solve(challengeOf(await ask()))

  expect((await ask(5, answer)).pass).toBeDefined()
  expect((await ask(5, answer)).pass).toBeUndefined()
  expect(desk.counts.unshared).toBe(1)
})

test('another buyer’s solution is refused, with a challenge of one’s own', async () => {
  const answer = await solve(challengeOf(await ask(5)))
  const seen = await ask(6, answer)

  expect(seen.pass).toBeUndefined()
  expect(seen.flags).toBe(ACCESS_FLAG.badChallenge)
  expect(challengeOf(seen).parameters.data?.uid).toBe(6)
  expect((await ask(5, answer)).pass).toBeDefined()
})

test('a solution that came too late is refused, and nobody’s fault', async () => {
  const late = await solve(challengeOf(await ask()))
  clock.advance(CHALLENGE_MS + 1_000)

  expect(await ask(5, late)).toMatchObject({ pass: undefined, flags: 0 })
})

test('a solution is taken by a limiter that grades its buyer worse than the one that asked', async () => {
  const answer = await solve(challengeOf(await ask(5, '', { tier: 0 })))

  expect((await ask(5, answer, { tier: 4, desk: newDesk() })).pass).toBeDefined()
})

type Change = (challenge: Challenge) => unknown
const changed: [string, Change][] = [
  ['less work', (one) => ({ ...one, parameters: { ...one.parameters, keyPrefix: '00' } })],
  ['another buyer', (one) => ({ ...one, parameters: { ...one.parameters, data: { ...one.parameters.data, uid: 6 } } })],
  [
    'another expiry',
    (one) => ({ ...one, parameters: { ...one.parameters, expiresAt: (one.parameters.expiresAt ?? 0) + 99 } }),
  ],
  ['another nonce', (one) => ({ ...one, parameters: { ...one.parameters, nonce: '0'.repeat(32) } })],
  ['one field more', (one) => ({ ...one, parameters: { ...one.parameters, memoryCost: 1 } })],
  ['no signature of the key', (one) => ({ ...one, parameters: { ...one.parameters, keySignature: undefined } })],
  ['another signature', (one) => ({ ...one, signature: 'a'.repeat(64) })],
  ['no signature', ({ parameters }) => ({ parameters })],
]

test.each(changed)('a challenge with %s is refused', async (_what, change) => {
  const answer = await solve(challengeOf(await ask()))
  const { challenge, solution } = JSON.parse(Buffer.from(answer, 'base64').toString())
  const seen = await ask(_what === 'another buyer' ? 6 : 5, encode({ challenge: change(challenge), solution }))

  expect(seen).toMatchObject({ pass: undefined, flags: ACCESS_FLAG.badChallenge })
})

test('parts of two challenges do not make one', async () => {
  const [mine, theirs] = [challengeOf(await ask(5)), challengeOf(await ask(6))]
  const { solution } = JSON.parse(Buffer.from(await solve(theirs), 'base64').toString())
  const spliced = [
    { parameters: theirs.parameters, signature: mine.signature },
    { parameters: { ...theirs.parameters, data: mine.parameters.data }, signature: theirs.signature },
    { parameters: { ...mine.parameters, keySignature: theirs.parameters.keySignature }, signature: mine.signature },
  ]

  for (const challenge of spliced) expect((await ask(5, encode({ challenge, solution }))).pass).toBeUndefined()
  expect((await ask(5, encode({ challenge: mine, solution }))).pass).toBeUndefined()
})

test('half of the key is asked for, the whole is needed: nothing is gained without the work', async () => {
  const challenge = challengeOf(await ask())
  const derivedKey = `${challenge.parameters.keyPrefix}${'0'.repeat(32)}`

  expect((await ask(5, encode({ challenge, solution: { counter: 1, derivedKey } }))).pass).toBeUndefined()
})

test('a challenge of the previous secret is taken while the secret is changed', async () => {
  const old = newDesk(createKeyRing({ current: 'the secret before this one' }))
  const during = newDesk(createKeyRing({ current: 'token-secret-of-the-test', previous: 'the secret before this one' }))
  const answer = await solve(challengeOf(await ask(5, '', { desk: old })))

  expect((await ask(5, answer)).pass).toBeUndefined()
  expect((await ask(5, answer, { desk: during })).pass).toBeDefined()
})

test('who cannot compute waits instead: a voucher, good after its time, once', async () => {
  const { voucher, retryAfterMs } = JSON.parse((await ask(5, 'wait')).reply?.body ?? '{}')
  expect(retryAfterMs).toBe(terms.waitSeconds * 1_000)

  const early = await ask(5, voucher)
  expect(JSON.parse(early.reply?.body ?? '{}')).toMatchObject({ voucher, retryAfterMs })
  expect(early.flags).toBe(0)
  clock.advance(retryAfterMs)
  expect(await ask(6, voucher)).toMatchObject({ pass: undefined, flags: ACCESS_FLAG.badChallenge })
  const { pass = '' } = await ask(5, voucher)
  expect(verifyPass(ring, pass, { uid: 5, activityId: 7, nowMs: clock.now() })).toBe('ok')
  expect((await ask(5, voucher, { desk: newDesk() })).pass).toBeUndefined()
})

test('a voucher does not wait for ever, and no changed one is taken', async () => {
  const { voucher } = JSON.parse((await ask(5, 'wait')).reply?.body ?? '{}')
  clock.advance(terms.waitSeconds * 1_000)

  expect(await ask(5, `${voucher.slice(0, -3)}AAA`)).toMatchObject({ pass: undefined, flags: ACCESS_FLAG.badChallenge })
  clock.advance(VOUCHER_MS)
  expect(await ask(5, voucher)).toMatchObject({ pass: undefined, flags: 0 })
})

test('what is checked at a time is bounded; one more is told to come back', async () => {
  const uids = Array.from({ length: CHALLENGES_IN_FLIGHT_MAX + 10 }, (_, index) => 1_000 + index)
  const answers = await Promise.all(uids.map(async (uid) => solve(challengeOf(await ask(uid)))))

  const seen = await Promise.all(uids.map((uid, index) => ask(uid, answers[index])))

  expect(seen.filter(({ pass }) => pass !== undefined)).toHaveLength(CHALLENGES_IN_FLIGHT_MAX)
  expect(seen.filter(({ reply }) => reply?.status === 503)).toHaveLength(10)
  expect((await ask(5)).reply?.status).toBe(428)
})
