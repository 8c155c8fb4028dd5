import { expect, test } from 'vitest'
import { checkSignature, signatureOf } from './signature.ts'

/** A keyed hash that is none: what is tested is what is done with it. */
const sign = (text: string) =>
  [...text]
    .reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) >>> 0, 7)
    .toString(16)
    .padStart(64, '0')
const now = 1_800_000_000_000
const body = '{"eventId":"e1"}'

test('a signature of now is good, and up to five minutes around', () => {
  expect(checkSignature(signatureOf(body, now, sign), body, now, sign)).toBe('ok')
  expect(checkSignature(signatureOf(body, now - 300_000, sign), body, now, sign)).toBe('ok')
  expect(checkSignature(signatureOf(body, now + 300_000, sign), body, now, sign)).toBe('ok')
})

test('an old one is told from a bad one', () => {
  expect(checkSignature(signatureOf(body, now - 302_000, sign), body, now, sign)).toBe('old')
  expect(checkSignature(signatureOf(body, now + 302_000, sign), body, now, sign)).toBe('old')
})

test('another body, another time, another form and none at all are bad', () => {
  const good = signatureOf(body, now, sign)

  expect(checkSignature(good, `${body} `, now, sign)).toBe('bad')
  expect(checkSignature(good.replace('t=1', 't=2'), body, now, sign)).toBe('bad')
  expect(checkSignature(`${good},v1=${'0'.repeat(64)}`, body, now, sign)).toBe('bad')
  expect(checkSignature(good.slice(0, -1), body, now, sign)).toBe('bad')
  expect(checkSignature(undefined, body, now, sign)).toBe('bad')
})
