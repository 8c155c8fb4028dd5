/** The list where services that nobody pulls leave their figures for dcacenter. */

import { CodedError } from '@bigtap/kernel'
import type { Store } from './connection.ts'

/** Figures of one node, as protocol's Stats: counters as they stand, `at` by the node's own clock, ms. */
export interface PushedStats {
  readonly nodeId: string
  readonly role: string
  readonly at: number
  readonly figures: Readonly<Record<string, number>>
  readonly labels: Readonly<Record<string, string>>
  readonly skus: readonly {
    readonly activityId: number
    readonly skuId: number
    readonly state: string
    readonly figures: Readonly<Record<string, number>>
  }[]
}

/** What was taken: values that are JSON, unchecked, and how many texts were not. */
export interface TakenPushes {
  readonly values: readonly unknown[]
  readonly bad: number
}

/** Figures of 200 nodes over most of a minute; the oldest fall. */
export const PUSHES_MAX = 10_000

const KEY = 'bt:push'
/** As long as a frame of the links may be. */
const TEXT_CHARS_MAX = 1_048_576

/** The list `bt:push`. Faults: STORE_FAILED. */
export class PushList {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Appends figures; beyond 10,000 the oldest fall. */
  async push(stats: PushedStats): Promise<void> {
    const { redis } = this.#store
    await Promise.all([redis.rpush(KEY, JSON.stringify(stats)), redis.ltrim(KEY, -PUSHES_MAX, -1)]).catch(fail)
  }

  /** Takes the oldest ones away, at most `max`. */
  async take(max: number): Promise<TakenPushes> {
    const texts = (await this.#store.redis.lpop(KEY, max).catch(fail)) ?? []
    const values = texts.map(parse).filter((value) => value !== undefined)
    return { values, bad: texts.length - values.length }
  }

  /** How many wait. */
  async length(): Promise<number> {
    return await this.#store.redis.llen(KEY).catch(fail)
  }
}

function parse(text: string): unknown {
  if (text.length > TEXT_CHARS_MAX) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function fail(cause: unknown): never {
  const message = cause instanceof Error ? cause.message : String(cause)
  throw new CodedError({ code: 'STORE_FAILED', message: `list ${KEY}: ${message}`, cause })
}
