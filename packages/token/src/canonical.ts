/*
 * Canonical bytes of a token: each field with its length before it, so that no two sets of fields have the same bytes.
 *
 *   [1][version]  [8][uid, big-endian]  [4][activityId] …
 *
 * Every field of a kind of token has a fixed length, so a reader checks the lengths and refuses anything else.
 */
const TWO_32 = 4_294_967_296

/** Writes fields as canonical bytes, each behind its length. */
export class CanonicalWriter {
  readonly bytes: Buffer
  #at = 0

  constructor(lengthBytes: number) {
    this.bytes = Buffer.alloc(lengthBytes)
  }

  u8(value: number): this {
    return this.#field(1, (at) => this.bytes.writeUInt8(value, at))
  }

  u32(value: number): this {
    return this.#field(4, (at) => this.bytes.writeUInt32BE(value, at))
  }

  /** An integer up to 2^53 - 1. */
  u53(value: number): this {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`number ${value} is not within 0 and 2^53 - 1`)
    return this.#field(8, (at) => {
      this.bytes.writeUInt32BE(Math.floor(value / TWO_32), at)
      this.bytes.writeUInt32BE(value % TWO_32, at + 4)
    })
  }

  /** Bytes written as lower hex. */
  hex(text: string, lengthBytes: number): this {
    return this.#field(lengthBytes, (at) => this.bytes.write(text, at, 'hex'))
  }

  /** The last bytes, without a length. */
  rest(bytes: Uint8Array): Buffer {
    this.bytes.set(bytes, this.#at)
    return this.bytes
  }

  get written(): Buffer {
    return this.bytes.subarray(0, this.#at)
  }

  #field(lengthBytes: number, write: (at: number) => void): this {
    this.bytes[this.#at] = lengthBytes
    write(this.#at + 1)
    this.#at += 1 + lengthBytes
    return this
  }
}

/** Reads what CanonicalWriter wrote; `isValid` turns false at the first wrong length or number. */
export class CanonicalReader {
  isValid = true
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  u8(): number {
    const at = this.#field(1)
    return this.isValid ? this.#bytes.readUInt8(at) : 0
  }

  u32(): number {
    const at = this.#field(4)
    return this.isValid ? this.#bytes.readUInt32BE(at) : 0
  }

  u53(): number {
    const at = this.#field(8)
    const value = this.isValid ? this.#bytes.readUInt32BE(at) * TWO_32 + this.#bytes.readUInt32BE(at + 4) : 0
    if (value > Number.MAX_SAFE_INTEGER) this.isValid = false
    return value
  }

  hex(lengthBytes: number): string {
    const at = this.#field(lengthBytes)
    return this.isValid ? this.#bytes.toString('hex', at, at + lengthBytes) : ''
  }

  #field(lengthBytes: number): number {
    const at = this.#at + 1
    if (at + lengthBytes > this.#bytes.length || this.#bytes[this.#at] !== lengthBytes) this.isValid = false
    this.#at = at + lengthBytes
    return at
  }
}
