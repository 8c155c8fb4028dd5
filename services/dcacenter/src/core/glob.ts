/** Longest pattern that is matched. */
export const PATTERN_CHARS_MAX = 256

/** Steps that matching may take, together for all texts of one command. */
export class GlobBudget {
  stepsLeft: number

  constructor(steps: number) {
    this.stepsLeft = steps
  }

  get isSpent(): boolean {
    return this.stepsLeft < 0
  }
}

/** A pattern of Redis (`*` `?` `[a-c]` `[^a]` `\x`), read once. */
export interface Glob {
  /** False also when the budget is spent: the caller looks at it. */
  matches(text: string, budget: GlobBudget): boolean
}

type Part = { readonly kind: 'star' } | { readonly kind: 'one'; fits(char: string): boolean }

/** Reads a pattern. */
export function parseGlob(pattern: string): Glob {
  const parts = partsOf(pattern)
  return { matches: (text, budget) => matchParts(parts, text, budget) }
}

/**
 * Walks both once and goes back only to the last star, so that the work is at most pattern x text, whatever the pattern:
 * matching by recursion takes exponential time for `*a*a*a*a*b`.
 */
function matchParts(parts: readonly Part[], text: string, budget: GlobBudget): boolean {
  let part = 0
  let at = 0
  let starPart = -1
  let starAt = 0
  while (at < text.length) {
    if (--budget.stepsLeft < 0) return false
    const next = parts[part]
    if (next?.kind === 'star') {
      starPart = part++
      starAt = at
    } else if (next?.fits(text[at] ?? '') === true) {
      part++
      at++
    } else if (starPart >= 0) {
      part = starPart + 1
      at = ++starAt
    } else return false
  }
  while (parts[part]?.kind === 'star') part++
  return part === parts.length
}

function partsOf(pattern: string): Part[] {
  const parts: Part[] = []
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at] ?? ''
    if (char === '*') {
      if (parts.at(-1)?.kind !== 'star') parts.push({ kind: 'star' })
    } else if (char === '?') parts.push({ kind: 'one', fits: () => true })
    else if (char === '[') {
      const end = endOfSet(pattern, at)
      parts.push({ kind: 'one', fits: setOf(pattern.slice(at + 1, end)) })
      at = end
    } else {
      const literal = char === '\\' && at + 1 < pattern.length ? (pattern[++at] ?? '') : char
      parts.push({ kind: 'one', fits: (one) => one === literal })
    }
  }
  return parts
}

/** A set that is never closed goes to the end, as in Redis. */
function endOfSet(pattern: string, start: number): number {
  for (let at = start + 1; at < pattern.length; at++) {
    if (pattern[at] === '\\') at++
    else if (pattern[at] === ']') return at
  }
  return pattern.length
}

function setOf(body: string): (char: string) => boolean {
  const isNegated = body.startsWith('^')
  const ranges: [string, string][] = []
  for (let at = isNegated ? 1 : 0; at < body.length; at++) {
    if (body[at] === '\\') at++
    const from = body[at] ?? ''
    if (body[at + 1] === '-' && at + 2 < body.length) {
      const to = body[at + 2] ?? ''
      ranges.push(from <= to ? [from, to] : [to, from])
      at += 2
    } else ranges.push([from, from])
  }
  return (char) => ranges.some(([from, to]) => char >= from && char <= to) !== isNegated
}
