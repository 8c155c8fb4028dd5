import { createHmac } from 'node:crypto'
import { MacKey } from './mac-key.ts'
import { PeriodKeys } from './period-keys.ts'

/** What a token is for. Each purpose has its own key, so that no token passes for one of another purpose. */
export type Purpose = 'session' | 'admission' | 'pass' | 'voucher'

/** The keys derived from one secret. */
export interface PurposeKeys extends Readonly<Record<Purpose, MacKey>> {
  /** Those of tickets change every ten minutes. */
  readonly ticket: PeriodKeys
  readonly challenge: ChallengeKeys
}

/** Secrets of challenges, 64 lower hexadecimal digits each, and their keys: one signs what is asked, the other its answer. */
export interface ChallengeKeys {
  readonly asked: string
  readonly answer: string
  readonly askedKey: MacKey
  readonly answerKey: MacKey
}

/** Signs with `current`; accepts `previous` as well while a key is being changed. */
export interface KeyRing {
  readonly current: PurposeKeys
  readonly previous: PurposeKeys | undefined
}

/** Shortest secret that a ring takes, in characters. */
export const SECRET_CHARS_MIN = 16

/** Throws a RangeError when a secret is shorter than 16 characters. */
export function createKeyRing(secrets: { current: string; previous?: string | undefined }): KeyRing {
  const { current, previous } = secrets
  return Object.freeze({
    current: deriveKeys(current),
    previous: previous === undefined || previous === '' ? undefined : deriveKeys(previous),
  })
}

function deriveKeys(secret: string): PurposeKeys {
  if (secret.length < SECRET_CHARS_MIN) {
    throw new RangeError(`token secret has ${secret.length} characters, needs ${SECRET_CHARS_MIN}`)
  }
  const bytesOf = (label: string) => createHmac('sha256', secret).update(`bigtap.${label}.v1`).digest()
  const keyOf = (purpose: Purpose | 'ticket') => new MacKey(bytesOf(purpose))
  return Object.freeze({
    session: keyOf('session'),
    admission: keyOf('admission'),
    pass: keyOf('pass'),
    voucher: keyOf('voucher'),
    ticket: new PeriodKeys(keyOf('ticket'), 'bigtap.ticket.period'),
    challenge: challengeKeys(bytesOf('challenge').toString('hex'), bytesOf('challenge-answer').toString('hex')),
  })
}

/** The text of a secret is the key itself: so altcha-lib takes it. */
function challengeKeys(asked: string, answer: string): ChallengeKeys {
  const keyOf = (text: string) => new MacKey(Buffer.from(text))
  return Object.freeze({ asked, answer, askedKey: keyOf(asked), answerKey: keyOf(answer) })
}
