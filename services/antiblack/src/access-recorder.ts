/** Copies the request log to a file, for training: records as they came, `u32 length LE | bytes`, up to a size. */

import { createWriteStream, fstatSync, ftruncateSync, openSync, readSync, type WriteStream } from 'node:fs'
import type { Logger } from '@bigtap/kernel'

/** Where to, and how much. */
export interface RecorderSettings {
  readonly file: string
  readonly bytesMax: number
}

/** `full`: the file has its size. `failed`: it cannot be written. */
export type RecorderState = 'idle' | 'recording' | 'full' | 'failed' | 'stopped'

const LENGTH_BYTES = 4
/** A disk that is slower than the log does not fill the memory: records fall. */
const UNWRITTEN_BYTES_MAX = 4_194_304

/** The recorder: `write` never waits and never throws. */
export class AccessRecorder {
  readonly #settings: RecorderSettings
  readonly #logger: Logger
  #stream: WriteStream | undefined
  #state: RecorderState = 'idle'
  #bytes = 0
  #dropped = 0

  constructor(settings: RecorderSettings, { logger }: { logger: Logger }) {
    this.#settings = settings
    this.#logger = logger
  }

  get state(): RecorderState {
    return this.#state
  }

  /** Bytes of the file, those on their way among them. */
  get bytes(): number {
    return this.#bytes
  }

  /** Records that fell because the disk was slow. */
  get dropped(): number {
    return this.#dropped
  }

  /** Goes on where an earlier process ended; what it wrote in part is cut off. A file that cannot be opened is an alarm in the log, and no recording. */
  start(): void {
    if (this.#state !== 'idle') return
    try {
      const fd = openSync(this.#settings.file, 'a+')
      this.#bytes = wholeBytesOf(fd)
      ftruncateSync(fd, this.#bytes)
      this.#stream = createWriteStream(this.#settings.file, { fd, autoClose: true })
      this.#stream.on('error', (error) => this.#fail(error))
      this.#state = 'recording'
    } catch (error) {
      this.#fail(error)
    }
  }

  write(value: Uint8Array): void {
    if (this.#state !== 'recording' || this.#stream === undefined) return
    const size = LENGTH_BYTES + value.length
    if (this.#bytes + size > this.#settings.bytesMax) {
      this.#state = 'full'
      this.#stream.end()
      this.#logger.warn({ bytes: this.#bytes }, 'the copy of the request log is full')
    } else if (this.#stream.writableLength > UNWRITTEN_BYTES_MAX) this.#dropped++
    else {
      const record = Buffer.alloc(size)
      record.writeUInt32LE(value.length)
      record.set(value, LENGTH_BYTES)
      this.#bytes += size
      this.#stream.write(record)
    }
  }

  /** Resolves when all is written. */
  async stop(): Promise<void> {
    const stream = this.#stream
    if (this.#state === 'recording') this.#state = 'stopped'
    if (stream === undefined || stream.closed) return
    await new Promise<void>((resolve) => {
      stream.once('close', resolve)
      stream.end()
    })
  }

  #fail(error: unknown): void {
    this.#state = 'failed'
    this.#logger.error({ error }, 'the request log is not copied')
  }
}

/** Length of the whole records at the beginning of the file. */
function wholeBytesOf(fd: number): number {
  const { size } = fstatSync(fd)
  const head = Buffer.alloc(LENGTH_BYTES)
  let at = 0
  while (at + LENGTH_BYTES <= size) {
    readSync(fd, head, 0, LENGTH_BYTES, at)
    const end = at + LENGTH_BYTES + head.readUInt32LE()
    if (end > size) break
    at = end
  }
  return at
}
