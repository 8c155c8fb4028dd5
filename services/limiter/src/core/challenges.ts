/**
 * Challenges, as far as they are pure: what a request shows, what of it is for this buyer, and the replies.
 *
 *   path call ─► asked? ─no─► go on                    pass of this buyer ─► go on
 *                  │ yes ─► pass? ─yes─► go on
 *                  ▼ no
 *               X-Challenge:  none ─► 428 {challenge}      wait ─► 428 {voucher}, good after the wait, no script needed
 *                             solution or voucher ─► checked, used up ─► pass
 */

import { problemBody, type Tier } from '@bigtap/domain'
import { PASS_CHARS, type SignedChallenge, VOUCHER_CHARS, VOUCHER_PREFIX, type VoucherClaims } from '@bigtap/token'
import { makeReply, type Reply } from './reply.ts'
import { cookieValue } from './session.ts'

/** The counter that was found, and the key that it derives (lower hexadecimal). */
export interface Solution {
  readonly counter: number
  readonly derivedKey: string
}

/** What a request shows as its answer to a challenge. */
export type Answer =
  | { readonly kind: 'none' | 'wait' | 'unreadable' }
  | { readonly kind: 'voucher'; readonly text: string }
  | { readonly kind: 'solution'; readonly challenge: SignedChallenge; readonly solution: Solution }

/** Who is asked, where. */
export interface Challenged {
  readonly uid: number
  readonly activityId: number
  readonly tier: Tier
}

/** Longest answer that is read: a solution has 900 characters. */
export const ANSWER_CHARS_MAX = 2_048
const HEX_32 = /^[0-9a-f]{32}$/
const HEX_64 = /^[0-9a-f]{64}$/
const NONE: Answer = Object.freeze({ kind: 'none' })
const WAIT: Answer = Object.freeze({ kind: 'wait' })
const UNREADABLE: Answer = Object.freeze({ kind: 'unreadable' })

/** Reads the header `X-Challenge`: nothing, `wait`, a voucher, or base64 of `{challenge, solution}`. Never throws. */
export function readAnswer(header: string): Answer {
  if (header === '') return NONE
  if (header === 'wait') return WAIT
  if (header.length > ANSWER_CHARS_MAX) return UNREADABLE
  if (header.startsWith(VOUCHER_PREFIX))
    return header.length === VOUCHER_CHARS ? { kind: 'voucher', text: header } : UNREADABLE
  const fields = objectOf(parseJson(Buffer.from(header, 'base64').toString('utf8')))
  const challenge = readChallenge(objectOf(fields?.challenge))
  const solution = readSolution(objectOf(fields?.solution))
  return challenge && solution ? { kind: 'solution', challenge, solution } : UNREADABLE
}

/** The pass that a request shows: header `X-Challenge-Pass`, else the cookie `bt_pass`; '' when there is none that could be. */
export function passText(header: string, cookie: string): string {
  const text = header === '' ? cookieValue(cookie, 'bt_pass') : header
  return text.length === PASS_CHARS ? text : ''
}

/**
 * Is a signed challenge one for this buyer, now? The tier is that of when it was asked: each limiter grades by what it has
 * seen itself, and who is answered by another one must not be sent around in a circle.
 */
export function judgeAsked(
  { parameters: { data, expiresAt } }: SignedChallenge,
  { uid, activityId }: Challenged,
  now: number,
): 'ok' | 'foreign' | 'expired' {
  if (data.uid !== uid || data.activityId !== activityId) return 'foreign'
  return now >= expiresAt * 1_000 ? 'expired' : 'ok'
}

/** 428 with what is to be solved, and how long who cannot compute would wait instead. */
export function askedReply(challenge: unknown, waitSeconds: number): Reply {
  return challengeReply({ challenge, waitSeconds }, [])
}

/** 428 with a voucher, and when it is good. */
export function waitReply(voucher: string, { notBefore, expiresAt }: VoucherClaims, now: number): Reply {
  const retryAfterMs = Math.max(1, notBefore - now)
  const body = { voucher, validFrom: notBefore, expiresAt, retryAfterMs }
  return challengeReply(body, ['retry-after', String(Math.max(1, Math.ceil(retryAfterMs / 1_000)))])
}

function challengeReply(more: Record<string, unknown>, headers: readonly string[]): Reply {
  const outcome = 'challenge_required'
  const body = JSON.stringify(problemBody(outcome, more))
  const type = 'application/problem+json'
  return makeReply({ outcome, status: 428, type, body, headers: [...headers, 'cache-control', 'no-store'] })
}

/** A pass for a browser: sent back only where the activity is asked for. */
export function passCookie(pass: string, activityId: number, ageMs: number, isSecure: boolean): string {
  const age = Math.max(1, Math.floor(ageMs / 1_000))
  const path = `/v1/activities/${activityId}/`
  return `bt_pass=${pass}; Path=${path}; HttpOnly; SameSite=Lax; Max-Age=${age}${isSecure ? '; Secure' : ''}`
}

type Json = Record<string, unknown>

function readChallenge(value: Json | undefined): SignedChallenge | undefined {
  const parameters = objectOf(value?.parameters)
  const data = objectOf(parameters?.data)
  const { signature } = value ?? {}
  if (parameters === undefined || typeof signature !== 'string' || !HEX_64.test(signature)) return undefined
  const { nonce, salt, keyPrefix, keySignature, expiresAt } = parameters
  const texts = [nonce, salt, keyPrefix]
  if (!texts.every((one) => typeof one === 'string' && HEX_32.test(one))) return undefined
  if (typeof keySignature !== 'string' || !HEX_64.test(keySignature)) return undefined
  const numbers = [expiresAt, data?.uid, data?.activityId, data?.tier, data?.triesMax]
  if (!numbers.every((one) => typeof one === 'number')) return undefined
  return { parameters: parameters as unknown as SignedChallenge['parameters'], signature }
}

function readSolution(value: Json | undefined): Solution | undefined {
  const { counter, derivedKey } = value ?? {}
  if (typeof counter !== 'number' || typeof derivedKey !== 'string' || !HEX_64.test(derivedKey)) return undefined
  return { counter, derivedKey }
}

function objectOf(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // what is no JSON is no answer, which the caller says
  }
}
