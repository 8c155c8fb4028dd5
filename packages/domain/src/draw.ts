/**
 * The draw of a line that anybody can check. Pure: the hashes come in.
 *
 * ```
 *   before   commit = SHA-256(seed)                       published; the seed is secret
 *   joining  pseudonym = SHA-256(commit | sku | uid)      the first 16 bytes, hexadecimal: whoever is drawn can find himself
 *            score = HMAC-SHA256(seed, pseudonym)         the first 52 bits; the line stands in order of the scores
 *   after    the seed is published, and so are all pseudonyms in their order
 * ```
 * The keyed permutation needs no moment at which all are shuffled: each place follows from seed and buyer alone, nobody who
 * does not know the seed can tell it beforehand, and whoever knows the commit can tell that the seed was not chosen later.
 */

import { Fields, type Parsed, show } from './checks.ts'

/** SHA-256 and HMAC-SHA256, hexadecimal; `seed` is hexadecimal too and is the key of 32 bytes. */
export interface DrawHashes {
  /** Of the bytes that a hexadecimal text stands for. */
  sha256OfHex(hex: string): string
  sha256(text: string): string
  hmac(seed: string, text: string): string
}

/** First line of an export. */
export interface DrawHeader {
  readonly activityId: number
  readonly skuId: number
  readonly commit: string
  readonly seed: string
  readonly drawSeconds: number
  /** Places that follow. */
  readonly count: number
}

/** Scores are below 2^52: exact as a double, in Redis and in JSON. */
export const DRAW_SCORE_BITS = 52
const SCORE_DIGITS = DRAW_SCORE_BITS / 4
const PSEUDONYM_DIGITS = 32

/** What is published of a seed before the draw. */
export function drawCommitOf(seed: string, { sha256OfHex }: DrawHashes): string {
  return sha256OfHex(seed)
}

/** Who a buyer is in a draw. */
export function drawPseudonym(
  { commit, skuId }: Pick<DrawHeader, 'commit' | 'skuId'>,
  uid: number,
  { sha256 }: DrawHashes,
): string {
  return sha256(`${commit}|${skuId}|${uid}`).slice(0, PSEUDONYM_DIGITS)
}

/** Where the seed puts a pseudonym: the lower, the further in front. */
export function drawScore(seed: string, pseudonym: string, { hmac }: DrawHashes): number {
  return Number.parseInt(hmac(seed, pseudonym).slice(0, SCORE_DIGITS), 16)
}

/** Checks an export, a line of NDJSON at a time, and remembers the first mistake. */
export class DrawCheck {
  readonly #hashes: DrawHashes
  readonly #seen = new Set<string>()
  #header: DrawHeader | undefined
  #lastScore = -1
  #lines = 0
  #mistake: string | undefined

  constructor(hashes: DrawHashes) {
    this.#hashes = hashes
  }

  /** What is wrong; undefined as long as nothing is. */
  get mistake(): string | undefined {
    return this.#mistake
  }

  /** Takes the next line; empty ones say nothing. */
  line(text: string): void {
    this.#lines++
    if (this.#mistake !== undefined || text.trim() === '') return
    const value = parseJson(text)
    const wrong = this.#header === undefined ? this.#takeHeader(value) : this.#takePlace(value, this.#header)
    if (wrong !== undefined) this.#mistake = `line ${this.#lines}: ${wrong}`
  }

  /** After the last line: the first mistake, or how many places are right. */
  end(): Parsed<{ header: DrawHeader; places: number }> {
    const header = this.#header
    const places = this.#seen.size
    if (this.#mistake !== undefined) return { ok: false, errors: [this.#mistake] }
    if (header === undefined) return { ok: false, errors: ['the export has no header'] }
    if (places !== header.count)
      return { ok: false, errors: [`the header announces ${header.count} places, the export has ${places}`] }
    return { ok: true, value: { header, places } }
  }

  #takeHeader(value: unknown): string | undefined {
    const parsed = parseHeader(value)
    if (!parsed.ok) return parsed.errors[0]
    const { commit, seed } = parsed.value
    const found = drawCommitOf(seed, this.#hashes)
    if (found !== commit) return `SHA-256 of the seed is ${found}, but ${commit} was published`
    this.#header = parsed.value
    return undefined
  }

  #takePlace(value: unknown, { seed }: DrawHeader): string | undefined {
    const parsed = parsePlace(value)
    if (!parsed.ok) return parsed.errors[0]
    const { place, pseudonym } = parsed.value
    if (this.#seen.has(pseudonym)) return `pseudonym ${pseudonym} has two places`
    if (place !== this.#seen.size + 1) return `place ${place} follows place ${this.#seen.size}`
    const score = drawScore(seed, pseudonym, this.#hashes)
    if (score < this.#lastScore) return `pseudonym ${pseudonym} belongs in front of place ${place - 1}`
    this.#lastScore = score
    this.#seen.add(pseudonym)
    return undefined
  }
}

const HEX_64 = /^[0-9a-f]{64}$/
const HEX_32 = /^[0-9a-f]{32}$/
const PLACES_MAX = 100_000_000

function parseHeader(value: unknown): Parsed<DrawHeader> {
  const fields = new Fields(value, 'header')
  return fields.done({
    activityId: fields.id('activityId'),
    skuId: fields.id('skuId'),
    commit: fields.textLike('commit', HEX_64, '64 hexadecimal digits'),
    seed: fields.textLike('seed', HEX_64, '64 hexadecimal digits'),
    drawSeconds: fields.number('drawSeconds', { min: 1, max: 3_600 }),
    count: fields.number('count', { min: 0, max: PLACES_MAX }),
  })
}

function parsePlace(value: unknown): Parsed<{ place: number; pseudonym: string }> {
  const fields = new Fields(value, 'place')
  return fields.done({
    place: fields.number('place', { min: 1, max: PLACES_MAX }),
    pseudonym: fields.textLike('pseudonym', HEX_32, '32 hexadecimal digits'),
  })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return `no JSON: ${show(text)}` // no object either, so that its reader says what it is
  }
}
