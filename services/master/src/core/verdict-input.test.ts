import { expect, test } from 'vitest'
import { readSubject, readVerdictWish } from './verdict-input.ts'

test.each([
  'uid:7',
  'uid:9007199254740991',
  'ip:10.0.0.1',
  'ip:2001:db8::1',
  'subnet:10.0.0',
  'subnet:2001:db8:0:1',
  'device:1f',
])('%s is a subject', (text) => {
  expect(readSubject(text)).toMatchObject({ ok: true })
})

test.each([
  ...['uid:0', 'uid:07', 'uid:9007199254740992', 'uid:x', 'ip:10.0.0.256', 'ip:10.0.0', 'ip:', 'subnet:10.0.0.1'],
  ...[
    'subnet:2001:db8',
    'device:xyz',
    'device:0',
    'device:123456789abcdef',
    'shop:1',
    '',
    `ip:${'a:'.repeat(60)}`,
    7,
    null,
  ],
])('%s is none', (text) => {
  expect(readSubject(text)).toMatchObject({ ok: false })
})

test('a verdict is read whole, and only a uid can be blocked', () => {
  const wish = { subject: 'uid:7', tier: 5, reason: 'resells', minutes: 60 }

  expect(readVerdictWish(wish)).toEqual({
    ok: true,
    value: { kind: 'uid', key: '7', tier: 5, reason: 'resells', minutes: 60, isShadow: false },
  })
  expect(readVerdictWish({ ...wish, subject: 'ip:10.0.0.1' })).toMatchObject({
    ok: false,
    errors: ['tier must be a whole number from 0 to 4, not 5'],
  })
})

test('all that is wrong is said at once', () => {
  const parsed = readVerdictWish({ subject: 'ip:x', tier: 9, reason: '', minutes: 0, isShadow: 'no' })

  expect(parsed.ok ? [] : parsed.errors.map((error) => error.split(' ')[0])).toEqual([
    ...['subject', 'tier', 'reason', 'minutes', 'isShadow'],
  ])
})
