import type { Counter, Metrics } from '@bigtap/kernel'
import { encodeVerdictBatch, KIND, VerdictColumns, verdictBatchBytesMax } from '@bigtap/protocol'
import { Batcher, type Link } from '@bigtap/transport'

/** Verdicts in one frame at most; 1,024 with tokens are 300 KB, under the frame's 1 MiB. */
export const VERDICTS_PER_FRAME_MAX = 1_024

/** Gathers the verdicts of one event-loop turn per link and sends them as one frame. */
export class VerdictSender {
  /** This node's own threshold, a rank that rides on every frame; 0 for none. */
  shedFrom = 0
  readonly #batches = new Map<Link, VerdictColumns>()
  readonly #bytes = new Uint8Array(verdictBatchBytesMax(VERDICTS_PER_FRAME_MAX))
  readonly #batcher: Batcher
  readonly #dropped: Counter

  constructor({ metrics }: { metrics: Metrics }) {
    this.#batcher = new Batcher(
      { itemsMax: 65_536, bytesMax: Number.MAX_SAFE_INTEGER },
      { flush: () => this.#flushAll() },
    )
    this.#dropped = metrics.counter('bigtap_middle_verdicts_dropped_total', 'Verdicts whose link could take no more')
  }

  /** A verdict that is not granted. */
  send(link: Link, askId: number, code: number, retryAfterMs: number, ahead = 0, etaMs = 0, place = 0): void {
    this.#room(link).push(askId, code, retryAfterMs, ahead, etaMs, place)
    this.#batcher.added()
  }

  /** A grant with its token. */
  sendGranted(link: Link, askId: number, token: string, expiresAt: number): void {
    this.#room(link).pushGranted(askId, token, expiresAt)
    this.#batcher.added()
  }

  /** Forgets a link that closed. */
  forget(link: Link): void {
    const rows = this.#batches.get(link)?.rows ?? 0
    if (rows > 0) this.#dropped.inc(rows)
    this.#batches.delete(link)
  }

  #room(link: Link): VerdictColumns {
    let batch = this.#batches.get(link)
    if (batch === undefined) {
      batch = new VerdictColumns(VERDICTS_PER_FRAME_MAX)
      this.#batches.set(link, batch)
    }
    if (batch.rows === batch.capacity) this.#flush(link, batch)
    return batch
  }

  #flushAll(): void {
    for (const [link, batch] of this.#batches) {
      if (batch.rows > 0) this.#flush(link, batch)
      if (link.state === 'closed') this.#batches.delete(link)
    }
  }

  #flush(link: Link, batch: VerdictColumns): void {
    batch.shedFrom = this.shedFrom
    const end = encodeVerdictBatch(batch, this.#bytes)
    if (!link.send(KIND.verdict, 0, this.#bytes.subarray(0, end))) this.#dropped.inc(batch.rows)
    batch.clear()
  }
}
