/** Half of the time that is looked back on, ms: what is counted was seen within the last 30 to 60 s. */
export const HALF_MS = 30_000

const BITS_PER_WORD = 32

/**
 * How many different others each subject was seen with, by linear counting (Whang, Vander-Zanden and Taylor, 1990): each
 * sets one bit of `bits`, and from the bits that are still 0 the number follows, with a standard error of 3 to 11 % for
 * as many as bits (1,024 to 64 of them). Two halves of 30 s are taken in turn, so that the old is forgotten.
 *
 * ```
 *   half before   0 1 0 0 1 0 0 0
 *   half under way 0 1 1 0 0 0 0 0     either: 3 of 8 bits → -8 ln(5/8) = 3.8
 * ```
 *
 * HyperLogLog needs less memory for millions; for the hundreds that matter here it is less exact at the same size.
 */
export class DistinctSketch {
  readonly bits: number
  readonly #words: number
  readonly #sets: Uint32Array
  /** Bits that are set: in each half, and in either. */
  readonly #ones: Uint16Array
  readonly #half: Uint32Array
  readonly #estimates: Float32Array

  /** `bits` per subject: a power of two from 32 to 32,768. */
  constructor(places: number, bits: number) {
    this.bits = bits
    this.#words = bits / BITS_PER_WORD
    this.#sets = new Uint32Array(places * 2 * this.#words)
    this.#ones = new Uint16Array(places * 3)
    this.#half = new Uint32Array(places)
    this.#estimates = Float32Array.from({ length: bits + 1 }, (_, ones) =>
      ones < bits ? -bits * Math.log(1 - ones / bits) : bits * Math.log(bits),
    )
  }

  get bytes(): number {
    return this.#sets.byteLength + this.#ones.byteLength + this.#half.byteLength + this.#estimates.byteLength
  }

  /** Saw the one with this hash at `at`, ms. What is older than the half before is not counted. */
  add(place: number, hash: number, at: number): void {
    const half = Math.floor(at / HALF_MS)
    if (half > (this.#half[place] as number)) this.#turn(place, half)
    else if (half < (this.#half[place] as number) - 1) return
    const bit = hash & (this.bits - 1)
    const mask = 1 << (bit & (BITS_PER_WORD - 1))
    const word = this.#from(place, half) + (bit >>> 5)
    if (((this.#sets[word] as number) & mask) !== 0) return
    this.#sets[word] = (this.#sets[word] as number) | mask
    this.#raise(place, half & 1)
    const other = this.#from(place, half + 1) + (bit >>> 5)
    if (((this.#sets[other] as number) & mask) === 0) this.#raise(place, 2)
  }

  /** How many different ones there were in the last 30 to 60 s before `now`; at most `bits` x ln(`bits`). */
  estimate(place: number, now: number): number {
    const half = Math.floor(now / HALF_MS)
    const newest = this.#half[place] as number
    if (half > newest + 1) return 0
    const ones = this.#ones[place * 3 + (half === newest + 1 ? newest & 1 : 2)] as number
    return this.#estimates[ones] as number
  }

  /** A place was given to somebody else. */
  clear(place: number): void {
    this.#sets.fill(0, place * 2 * this.#words, (place + 1) * 2 * this.#words)
    this.#ones.fill(0, place * 3, place * 3 + 3)
    this.#half[place] = 0
  }

  /** A new half begins: it takes the place of the one before the last. */
  #turn(place: number, half: number): void {
    const newest = this.#half[place] as number
    if (half > newest + 1) this.clear(place)
    else {
      const from = this.#from(place, half)
      this.#sets.fill(0, from, from + this.#words)
      this.#ones[place * 3 + (half & 1)] = 0
      this.#ones[place * 3 + 2] = this.#ones[place * 3 + (newest & 1)] as number
    }
    this.#half[place] = half
  }

  #from(place: number, half: number): number {
    return (place * 2 + (half & 1)) * this.#words
  }

  #raise(place: number, column: number): void {
    this.#ones[place * 3 + column] = (this.#ones[place * 3 + column] as number) + 1
  }
}
