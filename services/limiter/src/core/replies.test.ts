import { PROBLEM_STATUS, type ProblemCode, VERDICT } from '@bigtap/domain'
import { createKeyRing, issueSession } from '@bigtap/token'
import { expect, test } from 'vitest'
import { EDGE_FAULTS, retryReply, retryReplyIn } from './replies.ts'
import { grantedReply, methodReply, problemReply, queuedReply, type Reply } from './reply.ts'
import { Sessions, sessionText } from './session.ts'
import { verdictReply } from './verdicts.ts'

test('every reply is well-formed: no header can carry a line break of its own, every body is JSON', () => {
  const problems = (Object.keys(PROBLEM_STATUS) as ProblemCode[]).map((code) => problemReply(code))
  const retries = [0, 0.5, 0.999].map((draw) => retryReply('overloaded', draw))
  const all: Reply[] = [
    ...problems,
    ...retries,
    ...Object.values(EDGE_FAULTS),
    grantedReply('a.b', 1),
    queuedReply(1, 2, 90_000),
    methodReply('GET, POST'),
  ]
  for (const { headers, block, body, statusLine, status } of all) {
    for (const part of headers) expect(part).not.toMatch(/[\r\n]/)
    expect(block.split('\r\n')).toHaveLength(headers.length / 2)
    expect(statusLine).toMatch(new RegExp(`^${status} [A-Z]`))
    JSON.parse(body)
  }
})

test('buyers that are told to come back are spread', () => {
  const waits = new Set(
    Array.from({ length: 100 }, (_, n) => JSON.parse(retryReply('overloaded', n / 100).body).retryAfterMs),
  )

  expect(waits.size).toBeGreaterThan(20)
  expect(JSON.parse(retryReplyIn('rate_limited', 1_000, 0.5).body)).toMatchObject({
    code: 'rate_limited',
    retryAfterMs: 1_000,
  })
})

test('a queued verdict says the place, how many are ahead and when to come back', () => {
  const row = {
    code: [VERDICT.queued],
    retryAfterMs: [1_500],
    ahead: [3],
    etaMs: [9],
    place: [17],
    token: [''],
    tokenExpiresAt: [0],
  }
  const reply = verdictReply(row, 0, 0.5, () => problemReply('not_started'))

  expect(reply.headers).toContain('2')
  expect(JSON.parse(reply.body)).toEqual({ state: 'queued', place: 17, ahead: 3, etaMs: 9, retryAfterMs: 1_500 })
})

test('a session is remembered until it expires, and the memory is bounded', () => {
  const ring = createKeyRing({ current: 'a secret of the session test' })
  const sessions = new Sessions(ring, 10)
  const texts = Array.from({ length: 40 }, (_, n) => issueSession(ring, { uid: n + 1, expiresAt: 10_000 }))
  for (const [n, text] of texts.entries()) expect(sessions.uidOf(text, 0)).toBe(n + 1)

  expect(sessions.size).toBeLessThanOrEqual(10)
  expect(sessions.uidOf(texts[39] ?? '', 9_999)).toBe(40)
  expect(sessions.uidOf(texts[39] ?? '', 10_000)).toBe(0)
  expect(sessions.uidOf(`${texts[0]}x`, 0)).toBe(0)
})

test('the session stands in the header or in the cookie', () => {
  expect(sessionText('Bearer abc', 'bt_session=no')).toBe('abc')
  expect(sessionText('Basic abc', 'bt_session=no')).toBe('')
  expect(sessionText('', 'a=b; bt_session=abc; c=d')).toBe('abc')
  expect(sessionText('', 'xbt_session=abc')).toBe('')
})
