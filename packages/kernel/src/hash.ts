/** How many slots the buyers are spread over; an owner owns slots, not buyers. */
export const SLOT_COUNT = 1024

const HIGH = 2 ** 32

/**
 * Hash of a uid (a whole number up to 2^53 - 1), 32 bits. The low half is mixed by MurmurHash3's finalizer, the high
 * half is added and mixed again (Austin Appleby, public domain). Vectors: proto/vectors/uid-hash.json.
 */
export function hashUid(uid: number): number {
  const low = uid >>> 0
  const high = Math.floor(uid / HIGH) >>> 0
  return mix(mix(low) ^ Math.imul(high, 0x9e3779b1))
}

/** The slot of a uid, 0 … 1023. */
export function slotOf(uid: number): number {
  return hashUid(uid) & (SLOT_COUNT - 1)
}

/** Hash of a text, 32 bits (FNV-1a over its UTF-16 units, then mixed): for tables and partitions, not for secrets. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return mix(hash)
}

/** MurmurHash3's finalizer: 32 bits to 32 bits, one to one. */
export function mix(value: number): number {
  let hash = value
  hash ^= hash >>> 16
  hash = Math.imul(hash, 0x85ebca6b)
  hash ^= hash >>> 13
  hash = Math.imul(hash, 0xc2b2ae35)
  hash ^= hash >>> 16
  return hash >>> 0
}
