/** When a batch is full. */
export interface BatcherSettings {
  itemsMax: number
  bytesMax: number
}

/**
 * Merges what one turn of the event loop brings into one flush. The owner writes an item into its own columns, then says
 * so; nothing is allocated per item.
 *
 *   added added added │ setImmediate → flush        a full batch is flushed at once
 *
 * `setImmediate`, not `queueMicrotask`: a microtask runs before the next socket is read and merges nothing.
 */
export class Batcher {
  readonly #settings: BatcherSettings
  readonly #flush: () => void
  #items = 0
  #bytes = 0
  #scheduled: NodeJS.Immediate | undefined

  constructor(settings: BatcherSettings, parts: { flush: () => void }) {
    this.#settings = settings
    this.#flush = parts.flush
  }

  /** Items that wait for the flush. */
  get items(): number {
    return this.#items
  }

  /** The owner has added an item of about `bytes`. */
  added(bytes = 0): void {
    this.#items++
    this.#bytes += bytes
    if (this.#items >= this.#settings.itemsMax || this.#bytes >= this.#settings.bytesMax) this.flush()
    else this.#scheduled ??= setImmediate(this.#onImmediate)
  }

  /** Flushes what waits, if anything does. */
  flush(): void {
    if (this.#scheduled !== undefined) clearImmediate(this.#scheduled)
    this.#scheduled = undefined
    if (this.#items === 0) return
    this.#items = 0
    this.#bytes = 0
    this.#flush()
  }

  readonly #onImmediate = (): void => {
    this.#scheduled = undefined
    this.flush()
  }
}
