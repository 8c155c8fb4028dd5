/** Seeded chance for training: the same seed gives the same log and the same model. */

/** Next number in [0, 1). */
export type Draw = () => number

/** Mulberry32 (Tommy Ettinger, public domain): 32 bits of state. */
export function seeded(seed: number): Draw {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Evenly from `min` to `max`. */
export function between(draw: Draw, min: number, max: number): number {
  return min + draw() * (max - min)
}

/** A whole number from `min` to `max`. */
export function whole(draw: Draw, min: number, max: number): number {
  return min + Math.min(max - min, Math.floor(draw() * (max - min + 1)))
}

/** From `min` to `max`, evenly in the logarithm. */
export function logBetween(draw: Draw, min: number, max: number): number {
  return Math.exp(between(draw, Math.log(min), Math.log(max)))
}

/** One of a list. */
export function oneOf<T>(draw: Draw, list: readonly T[], none: T): T {
  return list[Math.floor(draw() * list.length)] ?? none
}
