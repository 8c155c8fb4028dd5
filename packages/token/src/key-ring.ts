import { createHmac } from 'node:crypto'
import { MacKey } from './mac-key.ts'

/** What a token is for. Each purpose has its own key, so that no token passes for one of another purpose. */
export type Purpose = 'session' | 'ticket' | 'admission'

/** The keys derived from one secret. */
export type PurposeKeys = Readonly<Record<Purpose, MacKey>>

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
  const derive = (purpose: Purpose) => new MacKey(createHmac('sha256', secret).update(`bigtap.${purpose}.v1`).digest())
  return Object.freeze({ session: derive('session'), ticket: derive('ticket'), admission: derive('admission') })
}
