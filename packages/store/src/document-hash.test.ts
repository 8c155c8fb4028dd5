import { expect, test } from 'vitest'
import { documentHash, hashBytes } from './document-hash.ts'

test.each([
  ['', 0],
  ['a', 0x3c2569b2],
  ['ab', 0x9bbfd75f],
  ['abc', 0xb3dd93fa],
  ['abcd', 0x43ed676a],
  ['hello, world', 0x149bbb7f],
])('the hash of %o is that of MurmurHash3', (text, hash) => {
  expect(hashBytes(Buffer.from(text))).toBe(hash)
})

test('a text and its bytes have one hash', () => {
  expect(documentHash('k', 'größer €')).toBe(documentHash('k', Buffer.from('größer €')))
})

test('two documents that were swapped do not have the digest of those that were not', () => {
  const pairs = Array.from({ length: 200 }, (_, n) => [`{"n":${n}}`, `{"n":${n + 1}}`] as const)
  const same = pairs.filter(
    ([x, y]) => (documentHash('a', x) ^ documentHash('b', y)) === (documentHash('a', y) ^ documentHash('b', x)),
  )

  expect(same).toEqual([])
})
