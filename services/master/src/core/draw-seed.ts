/** The seed of a draw: drawn by master, secret until the draw is over, and nobody's to choose. Pure. */

import { type ActivityDoc, type DrawHashes, drawCommitOf, type WaitingDoc } from '@bigtap/domain'

/** Length of a seed. */
export const SEED_BYTES = 32

type Input = Readonly<Record<string, unknown>>

/** The terms with a seed of these bytes. */
export function withSeed(waiting: WaitingDoc, bytes: Uint8Array, hashes: DrawHashes): WaitingDoc {
  const drawSeed = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return { ...waiting, drawSeed, drawCommit: drawCommitOf(drawSeed, hashes) }
}

/** A document as people may see it: the commit stays, the seed does not. The public page shows it after the draw. */
export function withoutSeed<T extends { readonly waiting: WaitingDoc }>(doc: T): T {
  return { ...doc, waiting: { ...doc.waiting, drawSeed: '' } }
}

/** What an operator says of waiting, over what stands: it may name a part, and never the seed. */
export function mergedWaiting(before: Pick<ActivityDoc, 'waiting'>, input: Input): Input {
  const { waiting } = input
  if (waiting === undefined) return {}
  if (typeof waiting !== 'object' || waiting === null || Array.isArray(waiting)) return { waiting }
  const { drawSeed, drawCommit } = before.waiting
  return { waiting: { ...before.waiting, ...waiting, drawSeed, drawCommit } }
}
