/** Solves the challenges of the path call, as the storefront does in a browser. */

import { solveChallenge } from 'altcha-lib'
import { deriveKey as derivePbkdf2 } from 'altcha-lib/algorithms/pbkdf2'
import { deriveKey as deriveSha } from 'altcha-lib/algorithms/sha'

const SOLVE_MS_MAX = 30_000

/** Solves challenges one after the other: the crowd has one thread, and a person's device would have its own. */
export class Solver {
  #last: Promise<unknown> = Promise.resolve()

  /** The value of header `X-Challenge`; undefined when it is no challenge, or was not solved in time. */
  solve(challenge: unknown): Promise<string | undefined> {
    const next = this.#last.then(() => proofOf(challenge))
    this.#last = next
    return next
  }
}

async function proofOf(challenge: unknown): Promise<string | undefined> {
  if (!isChallenge(challenge)) return undefined
  const deriveKey = challenge.parameters.algorithm.startsWith('PBKDF2') ? derivePbkdf2 : deriveSha
  try {
    const solution = await solveChallenge({ challenge, deriveKey, timeout: SOLVE_MS_MAX })
    if (solution === null) return undefined
    return Buffer.from(JSON.stringify({ challenge, solution })).toString('base64')
  } catch {
    return undefined // an algorithm that this library does not know: the buyer goes without
  }
}

type Challenge = Parameters<typeof solveChallenge>[0]['challenge']

function isChallenge(value: unknown): value is Challenge {
  if (typeof value !== 'object' || value === null || !('parameters' in value)) return false
  const { parameters } = value
  return typeof parameters === 'object' && parameters !== null && 'algorithm' in parameters
}
