import { createKeyRing, issuePass, issueVoucher, PASS_CHARS } from '@bigtap/token'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ANSWER_CHARS_MAX, askedReply, judgeAsked, passCookie, passText, readAnswer, waitReply } from './challenges.ts'

const NOW = 1_800_000_000_000
const ring = createKeyRing({ current: 'token-secret-of-the-test' })
const data = { uid: 5, activityId: 7, tier: 1, triesMax: 200 }
const parameters = {
  ...({ algorithm: 'SHA-256', cost: 1, data, expiresAt: NOW / 1_000 + 300, keyLength: 32 } as const),
  ...{ keyPrefix: '01'.repeat(16), keySignature: '02'.repeat(32), nonce: 'ab'.repeat(16), salt: '03'.repeat(16) },
}
const challenge = { parameters, signature: 'cd'.repeat(32) }
const solution = { counter: 17, derivedKey: 'ef'.repeat(32) }
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
const me = { uid: 5, activityId: 7, tier: 1 } as const

test('an answer is read as what it is', () => {
  const voucher = issueVoucher(ring, { id: '0'.repeat(32), uid: 5, activityId: 7, notBefore: 1, expiresAt: 2 })

  expect(readAnswer('')).toEqual({ kind: 'none' })
  expect(readAnswer('wait')).toEqual({ kind: 'wait' })
  expect(readAnswer(voucher)).toEqual({ kind: 'voucher', text: voucher })
  expect(readAnswer(encode({ challenge, solution }))).toEqual({ kind: 'solution', challenge, solution })
})

test.each([
  ['no JSON', 'xxxx'],
  ['a list', encode([challenge, solution])],
  ['no solution', encode({ challenge })],
  ['no challenge', encode({ solution })],
  ['no signature', encode({ challenge: { parameters }, solution })],
  ['an empty signature', encode({ challenge: { parameters, signature: '' }, solution })],
  ['a signature that is a list', encode({ challenge: { parameters, signature: [] }, solution })],
  [
    'a nonce that names a file',
    encode({ challenge: { ...challenge, parameters: { ...parameters, nonce: '../x' } }, solution }),
  ],
  [
    'no signature of the key',
    encode({ challenge: { ...challenge, parameters: { ...parameters, keySignature: undefined } }, solution }),
  ],
  ['no data', encode({ challenge: { ...challenge, parameters: { ...parameters, data: null } }, solution })],
  [
    'a uid in words',
    encode({ challenge: { ...challenge, parameters: { ...parameters, data: { ...data, uid: '5' } } }, solution }),
  ],
  ['a counter in words', encode({ challenge, solution: { ...solution, counter: '17' } })],
  ['a short key', encode({ challenge, solution: { ...solution, derivedKey: 'ef' } })],
  ['a voucher that is cut', 'wait.AAAA'],
  ['more than fits', 'A'.repeat(ANSWER_CHARS_MAX + 1)],
])('%s is no answer', (_what, header) => {
  expect(readAnswer(header)).toEqual({ kind: 'unreadable' })
})

test('whatever is sent, nothing is thrown', () => {
  const texts = fc.oneof(
    fc.string({ maxLength: 300, unit: 'binary' }),
    fc.json({ maxDepth: 8 }).map((text) => btoa(unescape(encodeURIComponent(text)))),
  )
  fc.assert(
    fc.property(texts, (text) => {
      expect(['none', 'wait', 'unreadable']).toContain(readAnswer(text).kind)
    }),
  )
})

test('a challenge is for one buyer and activity, for its time, and by the grade of when it was asked', () => {
  const end = parameters.expiresAt * 1_000

  expect(judgeAsked(challenge, me, NOW)).toBe('ok')
  expect(judgeAsked(challenge, { ...me, uid: 6 }, NOW)).toBe('foreign')
  expect(judgeAsked(challenge, { ...me, activityId: 8 }, NOW)).toBe('foreign')
  expect(judgeAsked(challenge, me, end - 1)).toBe('ok')
  expect(judgeAsked(challenge, me, end)).toBe('expired')
  expect(judgeAsked(challenge, { ...me, tier: 4 }, NOW)).toBe('ok')
})

test('a pass comes by its header, else by its cookie; what cannot be one is none', () => {
  const pass = issuePass(ring, { uid: 5, activityId: 7, expiresAt: NOW })
  const other = issuePass(ring, { uid: 6, activityId: 7, expiresAt: NOW })

  expect(pass).toHaveLength(PASS_CHARS)
  expect(passText(pass, `a=b; bt_pass=${other}`)).toBe(pass)
  expect(passText('', `a=b; bt_pass=${other}; c=d`)).toBe(other)
  expect(passText('', `xbt_pass=${other}`)).toBe('')
  expect(passText('', `bt_pass=${other}x`)).toBe('')
  expect(passText('short', '')).toBe('')
})

test('the replies say what to do, and are stored nowhere', () => {
  const asked = askedReply(challenge, 20)
  const claims = { id: '0'.repeat(32), uid: 5, activityId: 7, notBefore: NOW + 1_500, expiresAt: NOW + 9_000 }
  const wait = waitReply('wait.x', claims, NOW)

  expect([asked.status, wait.status]).toEqual([428, 428])
  expect(JSON.parse(asked.body)).toMatchObject({ code: 'challenge_required', challenge, waitSeconds: 20 })
  expect(JSON.parse(wait.body)).toMatchObject({ voucher: 'wait.x', validFrom: NOW + 1_500, retryAfterMs: 1_500 })
  expect(wait.headers).toEqual(expect.arrayContaining(['retry-after', '2', 'cache-control', 'no-store']))
  expect(asked.headers).toEqual(expect.arrayContaining(['cache-control', 'no-store']))
})

test('the cookie of a pass goes back only to its activity, and no script reads it', () => {
  expect(passCookie('abc', 7, 90_500, true)).toBe(
    'bt_pass=abc; Path=/v1/activities/7/; HttpOnly; SameSite=Lax; Max-Age=90; Secure',
  )
  expect(passCookie('abc', 7, 90_500, false)).not.toContain('Secure')
})
