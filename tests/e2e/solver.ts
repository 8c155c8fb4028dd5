/** Solves a challenge as docs/PROTOCOL.md describes it, with node:crypto alone. */

import { createHash } from 'node:crypto'

/** A challenge as the path call asks it. */
export interface AskedChallenge {
  readonly parameters: {
    readonly salt: string
    readonly nonce: string
    readonly keyPrefix: string
    readonly data: { readonly triesMax: number; readonly [name: string]: unknown }
    readonly [name: string]: unknown
  }
  readonly signature: string
}

/** The header `X-Challenge` of a solution; of a challenge without one, what comes closest. */
export function solve(challenge: AskedChallenge): string {
  const { salt, nonce, keyPrefix, data } = challenge.parameters
  const message = Buffer.concat([Buffer.from(salt, 'hex'), Buffer.from(nonce, 'hex'), Buffer.alloc(4)])
  let derivedKey = ''
  let counter = 0
  while (!derivedKey.startsWith(keyPrefix) && counter < data.triesMax) {
    message.writeUInt32BE(++counter, message.length - 4)
    derivedKey = createHash('sha256').update(message).digest('hex')
  }
  return Buffer.from(JSON.stringify({ challenge, solution: { counter, derivedKey } })).toString('base64')
}
