/**
 * Asks challenges and takes their answers. The proof of work is altcha-lib's (version 2, deterministic mode): a counter is
 * drawn from 1 to twice the tries, its key is derived by one SHA-256, and the first 16 bytes of that key are asked for.
 *
 *   asked       token package       22 us, from memory for who refreshes
 *   answered    token package       15 us: forged, wrong and used ones end here, with a new challenge
 *               altcha-lib          90 us, at most once per challenge, bounded in flight: both must agree
 *               Redis               used once among all limiters
 */

import { type ActivityDoc, isChallenged, triesOf, waitSecondsOf } from '@bigtap/domain'
import type { Clock, Logger, Metrics, Random } from '@bigtap/kernel'
import { ACCESS_FLAG } from '@bigtap/protocol'
import {
  issueChallenge,
  issuePass,
  issueVoucher,
  type KeyRing,
  type PurposeKeys,
  type SignedChallenge,
  solvedUnder,
  type VoucherClaims,
  verifyPass,
  verifyVoucher,
} from '@bigtap/token'
import { verifySolution } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/sha'
import {
  type Answer,
  askedReply,
  type Challenged,
  judgeAsked,
  passText,
  readAnswer,
  type Solution,
  waitReply,
} from './core/challenges.ts'
import { Remembered } from './core/remembered.ts'
import { retryReply } from './core/replies.ts'
import type { Reply } from './core/reply.ts'

/** Takes a name once among all limiters; the store's Once is one. Rejects when it cannot tell. */
export interface OnceStore {
  take(name: string, ttlMs: number): Promise<boolean>
}

/** Collaborators of the desk. */
export interface ChallengeParts {
  readonly ring: KeyRing
  readonly once: OnceStore
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: Metrics
}

/** What a request shows; `cookie` is looked at only when there is no header. */
export interface Shown {
  readonly pass: string
  readonly cookie: string
  readonly answer: string
}

/** A pass that was just earned. */
export interface EarnedPass {
  readonly pass: string
  readonly expiresAt: number
}

/** The buyer has earned a pass, or is told what to do; `flags` are those of the request log. */
export type Checked =
  | { readonly earned: EarnedPass; readonly flags: 0 }
  | { readonly earned: undefined; readonly reply: Reply; readonly flags: number }

/** A challenge is good for so long. */
export const CHALLENGE_MS = 300_000
/** Who comes back within this time gets the same one again: refreshing costs nobody anything. */
const SAME_MS = CHALLENGE_MS / 2
/** A voucher is good for so long after its wait. */
export const VOUCHER_MS = 600_000
/** Answers that are checked at a time; one more is told to come back. 25 ms of work. */
export const CHALLENGES_IN_FLIGHT_MAX = 256
/** Challenges that are remembered by buyer, about 1.5 KB each. */
export const CHALLENGES_MAX = 8_192
/** Answers that this process knows to be used up. */
export const USED_MAX = 65_536

const OUTCOMES = [
  ...(['asked', 'waiting', 'solved', 'waited', 'passed', 'bad', 'foreign', 'replayed', 'expired'] as const),
  ...(['early', 'overloaded', 'unshared'] as const),
]
type ChallengeOutcome = (typeof OUTCOMES)[number]
/** These are nobody's mistake. */
const HONEST: readonly ChallengeOutcome[] = ['expired', 'early']

interface Asked {
  readonly reply: Reply
  readonly until: number
}

/** The desk of one process. */
export class ChallengeDesk {
  readonly #parts: ChallengeParts
  readonly #asked = new Remembered<Asked>(CHALLENGES_MAX)
  readonly #used = new Remembered<true>(USED_MAX)
  readonly #counts = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as Record<ChallengeOutcome, number>
  #inFlight = 0

  constructor(parts: ChallengeParts) {
    this.#parts = parts
    const { metrics } = parts
    const help = 'Path calls that met a challenge, by outcome'
    for (const outcome of OUTCOMES) {
      const label = { outcome }
      metrics.gauge('bigtap_limiter_challenges_total', help, () => this.#counts[outcome], label)
    }
    metrics.gauge(
      'bigtap_limiter_challenges_in_flight_count',
      'Answers to challenges being checked',
      () => this.#inFlight,
    )
  }

  /** How often each outcome was met. */
  get counts(): Readonly<Record<ChallengeOutcome, number>> {
    return this.#counts
  }

  /** Undefined: the buyer need not, or has a pass. A reply, or what becomes of the answer that was shown. Never rejects. */
  check(activity: ActivityDoc, who: Challenged, shown: Shown): undefined | Reply | Promise<Checked> {
    const { clock, random, ring } = this.#parts
    const now = clock.now()
    if (!isChallenged(activity.challenge, who.tier, activity.opensAt, now)) return undefined
    const pass = passText(shown.pass, shown.cookie)
    if (pass !== '' && verifyPass(ring, pass, { ...who, nowMs: now }) === 'ok') return this.#count('passed', undefined)
    const answer = readAnswer(shown.answer)
    if (answer.kind === 'none') return this.#askAgain(activity, who, now)
    if (answer.kind === 'wait') return this.#wait(activity, who, now)
    if (this.#inFlight >= CHALLENGES_IN_FLIGHT_MAX) {
      return this.#count('overloaded', retryReply('overloaded', random.next()))
    }
    return this.#bounded(this.#take(activity, who, answer))
  }

  /** Counts what is in flight; a bug or a fault of the library tells the buyer to come back. */
  async #bounded(work: Promise<Checked>): Promise<Checked> {
    this.#inFlight++
    try {
      return await work
    } catch (error) {
      this.#parts.logger.error({ error }, 'a challenge failed')
      return { earned: undefined, reply: retryReply('unavailable', this.#parts.random.next()), flags: 0 }
    } finally {
      this.#inFlight--
    }
  }

  #askAgain(activity: ActivityDoc, who: Challenged, now: number): Reply {
    const known = this.#asked.get(keyOf(who))
    return known !== undefined && now < known.until ? this.#count('asked', known.reply) : this.#ask(activity, who)
  }

  #ask({ challenge }: ActivityDoc, who: Challenged): Reply {
    const { clock, random, ring } = this.#parts
    const now = clock.now()
    const triesMax = 2 * triesOf(challenge, who.tier)
    const { uid, activityId, tier } = who
    const bytes = Buffer.from(random.bytes(36))
    const made = issueChallenge(ring, {
      ...{ data: { activityId, tier, triesMax, uid }, counter: 1 + (bytes.readUInt32BE(32) % triesMax) },
      ...{ expiresAt: Math.ceil((now + CHALLENGE_MS) / 1_000), chance: bytes.subarray(0, 32) },
    })
    const reply = askedReply(made, waitSecondsOf(challenge, tier))
    this.#asked.set(keyOf(who), { reply, until: now + SAME_MS })
    return this.#count('asked', reply)
  }

  /** A refused answer brings a new challenge. */
  async #take(activity: ActivityDoc, who: Challenged, answer: Answer): Promise<Checked> {
    const outcome =
      answer.kind === 'voucher' ? await this.#takeVoucher(who, answer.text) : await this.#judge(who, answer)
    if (typeof outcome !== 'string') return this.#count('early', outcome)
    this.#count(outcome, undefined)
    if (outcome === 'solved' || outcome === 'waited') return { earned: this.#pass(activity, who), flags: 0 }
    const flags = HONEST.includes(outcome) ? 0 : ACCESS_FLAG.badChallenge
    return { earned: undefined, reply: this.#ask(activity, who), flags }
  }

  async #judge(who: Challenged, answer: Answer): Promise<ChallengeOutcome> {
    if (answer.kind !== 'solution') return 'bad'
    const { challenge, solution } = answer
    // Whose it is comes first: it costs nothing, and what is said of a forged one changes nothing.
    const judged = judgeAsked(challenge, who, this.#parts.clock.now())
    if (judged !== 'ok') return judged
    const keys = solvedUnder(this.#parts.ring, challenge, solution.derivedKey)
    if (keys === undefined) return 'bad'
    if (this.#used.get(challenge.parameters.nonce)) return 'replayed'
    if (!(await isSolved(challenge, solution, keys))) return 'bad'
    return (await this.#isFirst(challenge.parameters.nonce, CHALLENGE_MS)) ? 'solved' : 'replayed'
  }

  async #takeVoucher(who: Challenged, voucher: string): Promise<ChallengeOutcome | Checked> {
    const now = this.#parts.clock.now()
    const result = verifyVoucher(this.#parts.ring, voucher, { ...who, nowMs: now })
    if (result.outcome === 'early')
      return { earned: undefined, reply: waitReply(voucher, result.claims, now), flags: 0 }
    if (result.outcome !== 'ok')
      return result.outcome === 'expired' || result.outcome === 'foreign' ? result.outcome : 'bad'
    return (await this.#isFirst(result.claims.id, VOUCHER_MS)) ? 'waited' : 'replayed'
  }

  #wait({ challenge }: ActivityDoc, who: Challenged, now: number): Reply {
    const { random, ring } = this.#parts
    const notBefore = now + waitSecondsOf(challenge, who.tier) * 1_000
    const id = Buffer.from(random.bytes(16)).toString('hex')
    const claims: VoucherClaims = {
      ...{ id, uid: who.uid, activityId: who.activityId, notBefore },
      expiresAt: notBefore + VOUCHER_MS,
    }
    return this.#count('waiting', waitReply(issueVoucher(ring, claims), claims, now))
  }

  #pass({ challenge }: ActivityDoc, { uid, activityId }: Challenged): EarnedPass {
    const expiresAt = this.#parts.clock.now() + challenge.passSeconds * 1_000
    return { pass: issuePass(this.#parts.ring, { uid, activityId, expiresAt }), expiresAt }
  }

  /**
   * Is an answer used for the first time? While Redis cannot tell, what this process has not seen counts as new: an answer
   * is bound to its buyer and activity, so that all a replay brings is another pass of the same buyer, whereas refusing
   * would shut out everybody.
   */
  async #isFirst(name: string, ttlMs: number): Promise<boolean> {
    if (this.#used.get(name)) return false
    this.#used.set(name, true)
    try {
      return await this.#parts.once.take(name, ttlMs)
    } catch (error) {
      this.#parts.logger.debug({ error }, 'a challenge is marked as used in this process only')
      return this.#count('unshared', true)
    }
  }

  #count<T>(outcome: ChallengeOutcome, result: T): T {
    this.#counts[outcome]++
    return result
  }
}

function keyOf({ uid, activityId, tier }: Challenged): string {
  return `${uid}.${activityId}.${tier}`
}

/** The library's word: it checks signature, expiry and key once more. */
async function isSolved(challenge: SignedChallenge, solution: Solution, { challenge: keys }: PurposeKeys) {
  const { parameters, signature } = challenge
  const result = await verifySolution({
    ...{ challenge: { parameters: { ...parameters, data: { ...parameters.data } }, signature }, solution, deriveKey },
    ...{ hmacSignatureSecret: keys.asked, hmacKeySignatureSecret: keys.answer },
  })
  return result.verified
}
