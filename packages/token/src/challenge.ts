import { createHash, timingSafeEqual } from 'node:crypto'
import type { KeyRing, PurposeKeys } from './key-ring.ts'

/*
 * A proof of work as altcha-lib 2 has it (deterministic mode): the key of a counter is one SHA-256, whose first 16 bytes are
 * asked for. The parameters are signed as JSON with its fields in the order of the alphabet, the whole key beside it.
 *
 *   key          = SHA-256(salt | nonce | counter as u32, big-endian)
 *   keySignature = HMAC-SHA256(secret of answers, key)
 *   signature    = HMAC-SHA256(secret of challenges, JSON of the parameters)
 *
 * altcha-lib's createChallenge writes the same bytes, through the Web Crypto API: 90 us of the event loop, this 12 us.
 */

/** Whom a challenge is for: everything of it is signed. Counters lie from 1 to `triesMax`. */
export interface ChallengeData {
  readonly activityId: number
  readonly tier: number
  readonly triesMax: number
  readonly uid: number
}

/** What is signed; `expiresAt` in seconds, bytes in lower hexadecimal. */
export interface ChallengeParameters {
  readonly algorithm: 'SHA-256'
  readonly cost: 1
  readonly data: ChallengeData
  readonly expiresAt: number
  readonly keyLength: 32
  readonly keyPrefix: string
  readonly keySignature: string
  readonly nonce: string
  readonly salt: string
}

/** A challenge as buyers get it. */
export interface SignedChallenge {
  readonly parameters: ChallengeParameters
  readonly signature: string
}

/** What a challenge is made of; `chance` is 32 random bytes: salt and nonce. */
export interface ChallengeWish {
  readonly data: ChallengeData
  readonly counter: number
  readonly expiresAt: number
  readonly chance: Uint8Array
}

const CHANCE_BYTES = 32
const PREFIX_CHARS = 32

/** Makes and signs a challenge. Throws a RangeError when the chance is not 32 bytes. */
export function issueChallenge({ current }: KeyRing, wish: ChallengeWish): SignedChallenge {
  const { data, counter, expiresAt, chance } = wish
  if (chance.length !== CHANCE_BYTES) throw new RangeError(`chance has ${chance.length} bytes, needs ${CHANCE_BYTES}`)
  const message = Buffer.alloc(CHANCE_BYTES + 4)
  message.set(chance)
  message.writeUInt32BE(counter, CHANCE_BYTES)
  const key = createHash('sha256').update(message).digest()
  const keySignature = current.challenge.answerKey.macOf(key).toString('hex')
  const keyPrefix = key.toString('hex').slice(0, PREFIX_CHARS)
  const salt = message.toString('hex', 0, 16)
  const nonce = message.toString('hex', 16, CHANCE_BYTES)
  const parameters = ordered({
    ...{ algorithm: 'SHA-256', cost: 1, data, expiresAt, keyLength: 32 },
    ...{ keyPrefix, keySignature, nonce, salt },
  })
  return { parameters, signature: macOf(current, parameters).toString('hex') }
}

/**
 * The keys under which a challenge was signed, current or previous, when `derivedKey` (lower hexadecimal) is what it asks
 * for; undefined when the challenge is none of ours, or the key another one. 15 us.
 */
export function solvedUnder(
  { current, previous }: KeyRing,
  challenge: SignedChallenge,
  derivedKey: string,
): PurposeKeys | undefined {
  const parameters = ordered(challenge.parameters)
  const key = Buffer.from(derivedKey, 'hex')
  const isOf = (keys: PurposeKeys) =>
    isSame(macOf(keys, parameters), challenge.signature) &&
    isSame(keys.challenge.answerKey.macOf(key), parameters.keySignature)
  if (isOf(current)) return current
  return previous !== undefined && isOf(previous) ? previous : undefined
}

function isSame(mac: Buffer, text: string): boolean {
  const bytes = Buffer.from(text, 'hex')
  return bytes.length === mac.length && timingSafeEqual(bytes, mac)
}

function macOf({ challenge }: PurposeKeys, parameters: ChallengeParameters): Buffer {
  return challenge.askedKey.macOf(JSON.stringify(parameters))
}

/** The fields in the order in which they are signed. */
function ordered(parameters: ChallengeParameters): ChallengeParameters {
  const { algorithm, cost, data, expiresAt, keyLength, keyPrefix, keySignature, nonce, salt } = parameters
  const { activityId, tier, triesMax, uid } = data
  return {
    ...{ algorithm, cost, data: { activityId, tier, triesMax, uid }, expiresAt, keyLength },
    ...{ keyPrefix, keySignature, nonce, salt },
  }
}
