import { createChallenge, verifySolution } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/sha'
import { expect, test } from 'vitest'
import { Solver } from './challenge.ts'

const hmacSignatureSecret = 'secret of the test'

test('a challenge of the path call is solved as the storefront would', async () => {
  const data = { uid: 7, activityId: 1 }
  const challenge = await createChallenge({ algorithm: 'SHA-256', cost: 1, deriveKey, hmacSignatureSecret, data })

  const proof = await new Solver().solve(challenge)

  const payload = JSON.parse(Buffer.from(proof ?? '', 'base64').toString())
  expect(payload.challenge.parameters.data).toEqual(data)
  expect(await verifySolution({ ...payload, deriveKey, hmacSignatureSecret })).toMatchObject({ verified: true })
})

test('what is no challenge is not answered, and the next one is solved all the same', async () => {
  const solver = new Solver()
  const challenge = await createChallenge({ algorithm: 'SHA-256', cost: 1, deriveKey, hmacSignatureSecret })

  const all = await Promise.all([solver.solve('x'), solver.solve({ parameters: 1 }), solver.solve(challenge)])

  expect(all.map((proof) => proof !== undefined)).toEqual([false, false, true])
})
