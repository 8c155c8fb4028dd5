import { createHash, createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createKeyRing, issueChallenge, type SignedChallenge, solvedUnder } from './index.ts'

const NEW = createKeyRing({ current: 'a secret of the platform' })
const OLD = createKeyRing({ current: 'the secret before this one' })
const BOTH = createKeyRing({ current: 'a secret of the platform', previous: 'the secret before this one' })
const chance = Uint8Array.from({ length: 32 }, (_, index) => index)
const wish = { data: { uid: 5, activityId: 7, tier: 1, triesMax: 200 }, counter: 17, expiresAt: 1_800_000_300, chance }

function keyOf({ parameters: { salt, nonce } }: SignedChallenge, counter: number): string {
  const count = Buffer.alloc(4)
  count.writeUInt32BE(counter)
  return createHash('sha256').update(salt, 'hex').update(nonce, 'hex').update(count).digest('hex')
}

test('a challenge asks for half of the key of its counter, and only that counter has it', () => {
  const challenge = issueChallenge(NEW, wish)
  const counters = Array.from({ length: 200 }, (_, index) => index + 1)
  const fitting = counters.filter((counter) => keyOf(challenge, counter).startsWith(challenge.parameters.keyPrefix))

  expect(fitting).toEqual([17])
  expect(solvedUnder(NEW, challenge, keyOf(challenge, 17))).toBe(NEW.current)
  expect(solvedUnder(NEW, challenge, keyOf(challenge, 18))).toBeUndefined()
})

test('signatures are plain HMACs of what is written in the document', () => {
  const { parameters, signature } = issueChallenge(NEW, wish)
  const { asked, answer } = NEW.current.challenge
  const key = Buffer.from(keyOf({ parameters, signature }, 17), 'hex')

  expect(Object.keys(parameters)).toEqual(Object.keys(parameters).toSorted())
  expect(signature).toBe(createHmac('sha256', asked).update(JSON.stringify(parameters)).digest('hex'))
  expect(parameters.keySignature).toBe(createHmac('sha256', answer).update(key).digest('hex'))
})

test('the order in which a client sends the fields does not matter, their values do', () => {
  const challenge = issueChallenge(NEW, wish)
  const key = keyOf(challenge, 17)
  const turned = Object.fromEntries(Object.entries(challenge.parameters).reverse())
  const sent = (parameters: unknown) => solvedUnder(NEW, { ...challenge, parameters } as SignedChallenge, key)

  expect(sent(turned)).toBe(NEW.current)
  for (const field of Object.keys(challenge.parameters)) {
    if (field !== 'data') expect([field, sent({ ...challenge.parameters, [field]: 9 })]).toEqual([field, undefined])
  }
  for (const field of Object.keys(wish.data)) {
    const data = { ...wish.data, [field]: 4 }
    expect([field, sent({ ...challenge.parameters, data })]).toEqual([field, undefined])
  }
})

test('challenges of the previous secret are good while it is changed', () => {
  const challenge = issueChallenge(OLD, wish)
  const key = keyOf(challenge, 17)

  expect(solvedUnder(BOTH, challenge, key)).toBe(BOTH.previous)
  expect(solvedUnder(NEW, challenge, key)).toBeUndefined()
})

test('too little chance is refused', () => {
  expect(() => issueChallenge(NEW, { ...wish, chance: chance.subarray(1) })).toThrow(RangeError)
})

test('the bytes of docs/PROTOCOL.md', () => {
  const vectors = JSON.parse(readFileSync(new URL('../../../proto/vectors/challenge.json', import.meta.url), 'utf8'))

  expect(vectors.length).toBeGreaterThanOrEqual(1)
  for (const { secret, counter, derivedKey, chance: bytes, challenge } of vectors) {
    const ring = createKeyRing({ current: secret })
    const { data, expiresAt } = challenge.parameters
    const made = issueChallenge(ring, { data, expiresAt, counter, chance: Buffer.from(bytes, 'hex') })
    expect(made).toEqual(challenge)
    expect(keyOf(made, counter)).toBe(derivedKey)
  }
})
