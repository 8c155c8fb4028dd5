/** The storefront's solver against the challenges of the limiter's library: plain JavaScript, run here without a browser. */

import { readFileSync } from 'node:fs'
import { createContext, runInContext } from 'node:vm'
import { createChallenge, verifySolution } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/sha'
import { expect, test } from 'vitest'

interface Told {
  readonly counter?: number
  readonly derivedKey?: string
  readonly of?: number
  readonly error?: string
}

const text = readFileSync(new URL('../../storefront/public/solver.js', import.meta.url), 'utf8')
const secrets = { hmacSignatureSecret: 'a secret', hmacKeySignatureSecret: 'another secret' }
const make = (counter: number, more = {}) =>
  createChallenge({
    algorithm: 'SHA-256',
    cost: 1,
    deriveKey,
    counter,
    data: { triesMax: 20_000 },
    ...secrets,
    ...more,
  })

/** Everything that the worker says, the result last. */
function work(parameters: unknown): Told[] {
  const told: Told[] = []
  const self: { onmessage?: (event: unknown) => void; postMessage(message: Told): void } = {
    postMessage: (message) => void told.push(message),
  }
  runInContext(text, createContext({ self }))
  self.onmessage?.({ data: { parameters } })
  return told
}

test.each([1, 2, 255, 256, 8_192, 20_000])('the page finds counter %i, and the library takes it', async (counter) => {
  const challenge = await make(counter)
  const told = work(challenge.parameters)
  const { derivedKey = '', counter: found = 0 } = told.at(-1) ?? {}

  expect(found).toBe(counter)
  const solution = { counter: found, derivedKey }
  expect((await verifySolution({ challenge, solution, deriveKey, ...secrets })).verified).toBe(true)
})

test('the page says how far it is, and for how much at most', async () => {
  const told = work((await make(20_000)).parameters)

  expect(told.filter(({ of }) => of === 20_000)).toHaveLength(2)
})

test.each([
  ['another algorithm', { algorithm: 'SHA-512' }],
  ['a higher cost', { cost: 9 }],
  ['a counter beyond what is said', { data: { triesMax: 5 } }],
])('what the page cannot compute (%s) it says, so that the buyer waits instead', async (_what, more) => {
  expect(work((await make(6, more)).parameters).at(-1)?.error).toBeDefined()
})

test.each([[undefined], [null], [{}], [{ algorithm: 'SHA-256', cost: 1, keyLength: 32, data: { triesMax: 5 } }]])(
  'a challenge that is none ends in words, not in an endless sum',
  (parameters) => {
    expect(work(parameters).at(-1)?.error).toBeDefined()
  },
)
