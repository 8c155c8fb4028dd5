/** Where nodes leave answers for somebody who asked all of them: a short list under the question's id, soon forgotten. */

import { CodedError } from '@bigtap/kernel'
import type { Store } from './connection.ts'

/** Limits of a question: answers kept, characters of one, how long they are kept, ms. */
export const ANSWER_LIMITS = { answersMax: 16, charsMax: 16_384, keptMs: 10_000 } as const

const ID = /^[0-9a-f]{16}$/

/** Answers in Redis (`bt:answer:ID`). Faults: STORE_FAILED. */
export class AnswerBox {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Adds an answer, which is to be JSON; one that is too long, or to a question with a bad id, is not kept. */
  async put(askId: string, answer: string): Promise<void> {
    if (!ID.test(askId) || answer.length > ANSWER_LIMITS.charsMax) return
    const key = keyOf(askId)
    const { redis } = this.#store
    await Promise.all([
      redis.rpush(key, answer),
      redis.ltrim(key, 0, ANSWER_LIMITS.answersMax - 1),
      redis.pexpire(key, ANSWER_LIMITS.keptMs),
    ]).catch(fail)
  }

  /** The answers so far, in the order they came. */
  async read(askId: string): Promise<string[]> {
    if (!ID.test(askId)) return []
    return await this.#store.redis.lrange(keyOf(askId), 0, -1).catch(fail)
  }
}

function keyOf(askId: string): string {
  return `bt:answer:${askId}`
}

function fail(cause: unknown): never {
  const message = cause instanceof Error ? cause.message : String(cause)
  throw new CodedError({ code: 'STORE_FAILED', message: `answers: ${message}`, cause })
}
