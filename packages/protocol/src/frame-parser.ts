import { BODY_BYTES_MAX, checkHeader, HEADER_BYTES, readCorrelation, readKind } from './frame.ts'
import type { Kind } from './kind.ts'

/** Takes one frame. `body` is a view that is valid only until the handler returns: copy what must live longer. */
export type FrameHandler = (kind: Kind, correlation: number, body: Uint8Array) => void

/** 64 KiB: a parser that once held a large frame keeps no more than this. */
const KEPT_BYTES_MAX = 65_536
const KEPT_BYTES_FIRST = 4_096

/**
 * Cuts a stream of bytes into frames; does no I/O. A frame that lies whole in a chunk is handed out in place; only a
 * frame that is cut by a chunk's end is copied. The length is refused when the header is there, before the body is
 * waited for, and memory grows with the bytes that came, not with the bytes that were announced.
 *
 *   chunk   [ ….. frame ][ frame ][ fra ]      → kept [ fra…        ]
 *   chunk   [ me ][ frame ] …                    kept [ frame ] → handed out
 */
export class FrameParser {
  /** The longest body that is accepted now; a link lowers it until the peer has proved who it is. */
  bodyBytesMax: number
  #kept: Uint8Array = Buffer.allocUnsafe(KEPT_BYTES_FIRST)
  #keptBytes = 0
  #failure: unknown

  constructor(settings: { bodyBytesMax?: number } = {}) {
    this.bodyBytesMax = settings.bodyBytesMax ?? BODY_BYTES_MAX
  }

  /** Bytes of an unfinished frame that wait for the rest. */
  get waitingBytes(): number {
    return this.#keptBytes
  }

  /** Calls `onFrame` for each whole frame. Throws a ProtocolError on the first bad one, and again on every later call. */
  push(chunk: Uint8Array, onFrame: FrameHandler): void {
    if (this.#failure !== undefined) throw this.#failure
    try {
      const taken = this.#keptBytes > 0 ? this.#finishKept(chunk, onFrame) : 0
      if (this.#keptBytes === 0) this.#cut(chunk, taken, onFrame)
    } catch (error) {
      this.#failure = error
      this.#keptBytes = 0
      throw error
    }
  }

  #cut(chunk: Uint8Array, from: number, onFrame: FrameHandler): void {
    let offset = from
    while (chunk.length - offset >= HEADER_BYTES) {
      const bodyAt = offset + HEADER_BYTES
      const end = bodyAt + checkHeader(chunk, offset, this.bodyBytesMax)
      if (end > chunk.length) break
      onFrame(readKind(chunk, offset), readCorrelation(chunk, offset), chunk.subarray(bodyAt, end))
      offset = end
    }
    this.#keep(chunk, offset, chunk.length)
  }

  /** Completes the kept frame from the chunk's start; returns how many bytes of the chunk it took. */
  #finishKept(chunk: Uint8Array, onFrame: FrameHandler): number {
    let taken = 0
    if (this.#keptBytes < HEADER_BYTES) {
      taken = Math.min(HEADER_BYTES - this.#keptBytes, chunk.length)
      this.#keep(chunk, 0, taken)
      if (this.#keptBytes < HEADER_BYTES) return taken
    }
    const frameBytes = HEADER_BYTES + checkHeader(this.#kept, 0, this.bodyBytesMax)
    const until = Math.min(taken + frameBytes - this.#keptBytes, chunk.length)
    this.#keep(chunk, taken, until)
    if (this.#keptBytes < frameBytes) return until
    const frame = this.#kept
    this.#keptBytes = 0
    onFrame(readKind(frame, 0), readCorrelation(frame, 0), frame.subarray(HEADER_BYTES, frameBytes))
    if (frame.length > KEPT_BYTES_MAX) this.#kept = Buffer.allocUnsafe(KEPT_BYTES_FIRST)
    return until
  }

  #keep(chunk: Uint8Array, from: number, until: number): void {
    const needed = this.#keptBytes + until - from
    if (needed > this.#kept.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, this.#kept.length * 2))
      grown.set(this.#kept.subarray(0, this.#keptBytes))
      this.#kept = grown
    }
    this.#kept.set(from === 0 && until === chunk.length ? chunk : chunk.subarray(from, until), this.#keptBytes)
    this.#keptBytes = needed
  }
}
