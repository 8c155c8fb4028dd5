/** Counts commands in an epoch, and knows how far each link has been told. */

import { type BatchPosition, CALL_PREFIX, type CommandInit } from '@bigtap/protocol'

/** A document that was published. */
export interface PublishedChange {
  readonly key: string
  readonly body: unknown
  readonly isUrgent: boolean
}

/** A batch for one link. */
export interface LinkBatch extends BatchPosition {
  readonly commands: readonly CommandInit[]
}

const encoder = new TextEncoder()

/**
 * ```
 *   publish ─► sequence 5, 6 ─► every link that was told up to 4: {since 4, upTo 6}
 *   new link, or one that could not take a batch ─► {since 6, upTo 6, head}: what it missed it reads from the catalog
 *   trial ─► sequence 7, ahead of the others: {since 6, upTo 6}
 * ```
 */
export class CommandLog {
  readonly #epoch: number
  readonly #told = new Map<string, number>()
  #sequence = 0

  constructor(epoch: number) {
    this.#epoch = epoch
  }

  get sequence(): number {
    return this.#sequence
  }

  /** Numbers what was published as one revision. */
  published(changes: readonly PublishedChange[], revision: number): CommandInit[] {
    return changes.map(({ key, body, isUrgent }) => ({
      ...{ sequence: ++this.#sequence, key, revision, isUrgent },
      ...(body === null ? { isDeleted: true } : { body: encoder.encode(JSON.stringify(body)) }),
    }))
  }

  /** Numbers a trial, or its end where `body` is null; `revision` is that of the catalog. */
  trial(
    documents: readonly { key: string; body: unknown }[],
    revision: number,
    nodes: readonly string[],
  ): CommandInit[] {
    return documents.map(({ key, body }) => ({
      ...{ sequence: ++this.#sequence, key, revision, isTrial: true, nodes },
      ...(body === null ? { isDeleted: true } : { body: encoder.encode(JSON.stringify(body)) }),
    }))
  }

  /** Numbers a call of all nodes: no document, and done once. */
  call(name: string, args: unknown, revision: number): CommandInit[] {
    const body = encoder.encode(JSON.stringify(args))
    return [{ sequence: ++this.#sequence, key: `${CALL_PREFIX}${name}`, revision, body }]
  }

  /** The first batch of a link: where the catalog stands. */
  greet(link: string, head: number): LinkBatch {
    this.#told.set(link, this.#sequence)
    return { ...this.#position(this.#sequence, head), commands: [] }
  }

  /** The next batch of a link; undefined for one that was not greeted. */
  next(link: string, commands: readonly CommandInit[], head: number): LinkBatch | undefined {
    const since = this.#told.get(link)
    if (since === undefined) return undefined
    this.#told.set(link, this.#sequence)
    return { ...this.#position(since, head), commands }
  }

  /** A batch ahead of the others; how far the link was told stays. */
  ahead(link: string, commands: readonly CommandInit[], head: number): LinkBatch | undefined {
    const since = this.#told.get(link)
    return since === undefined ? undefined : { epoch: this.#epoch, since, upTo: since, head, commands }
  }

  forget(link: string): void {
    this.#told.delete(link)
  }

  #position(since: number, head: number): BatchPosition {
    return { epoch: this.#epoch, since, upTo: this.#sequence, head }
  }
}
