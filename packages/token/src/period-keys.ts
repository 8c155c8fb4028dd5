import { MacKey } from './mac-key.ts'

/** How long one derived key signs: by the expiry of what it signs, not by the time of signing. */
export const KEY_PERIOD_MS = 600_000

/** Nine periods can be in use at a time (a ticket lives an hour at most); a power of two, so that a period is a place. */
const PLACES = 16

interface Place {
  readonly period: number
  readonly key: MacKey
}

/**
 * The keys of a purpose, one per period of ten minutes, each derived from the purpose's own key:
 *
 *   secret ─► key of the purpose ─► key of period n      HMAC-SHA256(key of the purpose, label "." n)
 *
 * Who holds a derived key can sign for its ten minutes and reckon neither the others nor the one above. Nothing is
 * distributed: whoever has the secret derives the same keys. At most 16 are kept (20 KiB), each at the place of its
 * period; the caller checks that a period is plausible before it asks, so that forged times cost no derivation.
 */
export class PeriodKeys {
  /** Keys that were derived since the start. */
  derived = 0
  readonly #root: MacKey
  readonly #label: string
  readonly #places: (Place | undefined)[] = Array.from({ length: PLACES }, () => undefined)

  constructor(root: MacKey, label: string) {
    this.#root = root
    this.#label = label
  }

  /** The key of whatever expires at a time, ms since the epoch. */
  keyOf(expiresAt: number): MacKey {
    const period = Math.floor(expiresAt / KEY_PERIOD_MS)
    const known = this.#places[period % PLACES]
    return known?.period === period ? known.key : this.#derive(period)
  }

  #derive(period: number): MacKey {
    const key = new MacKey(this.#root.macOf(`${this.#label}.${period}`))
    this.#places[period % PLACES] = { period, key }
    this.derived++
    return key
  }
}
