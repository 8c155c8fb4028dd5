/** The live picture as server-sent events: read once a second for all who watch, and not at all when nobody does. */

import type { ServerResponse } from 'node:http'
import type { Logger } from '@bigtap/kernel'
import type { LiveView } from '../sale-view.ts'

/** Bounds of the stream. A watcher that does not read is cut off. */
export const STREAM_LIMITS = { watchersMax: 32, everyMs: 1_000, unreadBytesMax: 1_048_576 } as const

/** Everybody who watches. */
export class LiveStream {
  readonly #watchers = new Set<ServerResponse>()
  readonly #read: () => Promise<LiveView>
  readonly #logger: Logger
  #timer: NodeJS.Timeout | undefined
  #isReading = false

  constructor(read: () => Promise<LiveView>, logger: Logger) {
    this.#read = read
    this.#logger = logger
  }

  get isFull(): boolean {
    return this.#watchers.size >= STREAM_LIMITS.watchersMax
  }

  start(): void {
    this.#timer = setInterval(() => void this.#tell([...this.#watchers]), STREAM_LIMITS.everyMs)
  }

  stop(): void {
    clearInterval(this.#timer)
    for (const watcher of this.#watchers) watcher.end()
  }

  /** Takes a watcher; it is told at once. */
  add(response: ServerResponse, headers: Readonly<Record<string, unknown>>): void {
    const { 'content-length': _length, ...kept } = headers as Record<string, string>
    response.writeHead(200, { ...kept, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
    response.write('retry: 1000\n\n')
    response.on('close', () => this.#watchers.delete(response))
    response.on('error', () => this.#watchers.delete(response))
    this.#watchers.add(response)
    void this.#tell([response])
  }

  async #tell(watchers: readonly ServerResponse[]): Promise<void> {
    if (watchers.length === 0 || (this.#isReading && watchers.length > 1)) return
    this.#isReading = true
    try {
      const event = `event: sale\ndata: ${JSON.stringify(await this.#read())}\n\n`
      for (const watcher of watchers) {
        if (watcher.writableLength > STREAM_LIMITS.unreadBytesMax) watcher.destroy()
        else watcher.write(event)
      }
    } catch (error) {
      this.#logger.debug({ error }, 'the live picture could not be read')
      for (const watcher of watchers) watcher.write(': nothing to tell\n\n')
    } finally {
      this.#isReading = false
    }
  }
}
