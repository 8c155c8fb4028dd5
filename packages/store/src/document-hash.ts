import { hashText } from '@bigtap/kernel'

/*
 * A front hashes every document that it applies, on its event loop. 100 fronts that apply 400 statuses each, on one core:
 * 155 ms when the hash went over the characters of the text, 105 ms over bytes and by words.
 */

/**
 * Hash of a document, 32 bits: what a digest is made of. `json` is its text, or that in UTF-8. The product binds text to
 * key, so that two documents that were swapped differ.
 */
export function documentHash(key: string, json: Uint8Array | string): number {
  const bytes = typeof json === 'string' ? Buffer.from(json) : json
  return Math.imul(hashText(key) | 1, hashBytes(bytes)) >>> 0
}

/** MurmurHash3, x86, 32 bits, seed 0 (Austin Appleby, public domain). */
export function hashBytes(bytes: Uint8Array): number {
  const { length } = bytes
  const end = length & ~3
  let hash = 0
  for (let at = 0; at < end; at += 4) hash = Math.imul(rotate(hash ^ scramble(wordAt(bytes, at)), 13), 5) + 0xe6546b64
  let tail = 0
  for (let at = length - 1; at >= end; at--) tail = (tail << 8) | (bytes[at] as number)
  return finish((length === end ? hash : hash ^ scramble(tail)) ^ length)
}

function wordAt(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8)
  return low | ((bytes[at + 2] as number) << 16) | ((bytes[at + 3] as number) << 24)
}

function scramble(word: number): number {
  return Math.imul(rotate(Math.imul(word, 0xcc9e2d51), 15), 0x1b873593)
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits))
}

function finish(value: number): number {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
