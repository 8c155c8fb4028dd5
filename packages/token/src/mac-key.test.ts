import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { MacKey } from './mac-key.ts'

const secret = Buffer.from('00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff', 'hex')

test('a MAC is what HMAC-SHA256 says, for messages of every length, in turn', () => {
  const key = new MacKey(secret)

  for (const length of [0, 1, 39, 63, 64, 65, 500, 1_088, 1_089, 5_000, 39, 0]) {
    const message = Buffer.alloc(length, length)
    expect(key.macOf(message)).toEqual(createHmac('sha256', secret).update(message).digest())
  }
})

test('text counts as its UTF-8', () => {
  const text = 'Zwölf Boxkämpfer ☃'

  expect(new MacKey(secret).macOf(text)).toEqual(createHmac('sha256', secret).update(text).digest())
})

test('the bytes of RFC 4231, case 2', () => {
  const mac = new MacKey(Buffer.from('Jefe')).macOf('what do ya want for nothing?')

  expect(mac.toString('hex')).toBe('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843')
})
