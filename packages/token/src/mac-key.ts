import crypto from 'node:crypto'

/** SHA-256 works on blocks of 64 bytes (RFC 2104: B). */
const BLOCK_BYTES = 64
/** Tokens are shorter; what is longer takes the way without the buffer. */
const MESSAGE_BYTES_MAX = 1_088
/** Missing before Node 20.12. */
const hash: typeof crypto.hash | undefined = crypto.hash

/**
 * A key of HMAC-SHA256 (RFC 2104) with both of its pads laid out, so that a MAC is two one-shot hashes:
 *
 *   inner [key ^ 0x36 | message]  ─ sha256 ─►  outer [key ^ 0x5c | digest]  ─ sha256 ─►  mac
 *
 * createHmac makes an object per MAC and takes 2.2 us for a ticket, this 0.8 us.
 */
export class MacKey {
  readonly #key: crypto.KeyObject
  readonly #inner = Buffer.alloc(BLOCK_BYTES + MESSAGE_BYTES_MAX)
  readonly #outer = Buffer.alloc(BLOCK_BYTES + 32)

  /** `key` is at most one block long. */
  constructor(key: Uint8Array) {
    this.#key = crypto.createSecretKey(key)
    for (let at = 0; at < BLOCK_BYTES; at++) {
      const byte = key[at] ?? 0
      this.#inner[at] = byte ^ 0x36
      this.#outer[at] = byte ^ 0x5c
    }
  }

  /** The MAC of bytes; text counts as its UTF-8. */
  macOf(message: Uint8Array | string): Buffer {
    const bytes = typeof message === 'string' ? Buffer.from(message) : message
    if (hash === undefined || bytes.length > MESSAGE_BYTES_MAX) {
      return crypto.createHmac('sha256', this.#key).update(bytes).digest()
    }
    this.#inner.set(bytes, BLOCK_BYTES)
    // As binary text: half the price of a buffer.
    const digest = hash('sha256', this.#inner.subarray(0, BLOCK_BYTES + bytes.length), 'binary')
    this.#outer.write(digest, BLOCK_BYTES, 'binary')
    return Buffer.from(hash('sha256', this.#outer, 'binary'), 'binary')
  }
}
