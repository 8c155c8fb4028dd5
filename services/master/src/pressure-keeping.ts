/** PressureKeeper's round: reads who is under pressure, and publishes the factor on every pace. */

import { PRESSURE_KEY, type PressureDoc } from '@bigtap/domain'
import type { Clock, Logger } from '@bigtap/kernel'
import type { DocumentChange, PressureBoard } from '@bigtap/store'
import type { CatalogPublisher } from './catalog-publisher.ts'
import { type PressureState, startPressure, stepPressure } from './core/pressure-keeper.ts'

/** Collaborators. */
export interface PressureKeepingParts {
  readonly board: Pick<PressureBoard, 'read'>
  readonly publisher: CatalogPublisher
  readonly clock: Clock
  readonly logger: Logger
}

/** The factor in force. */
export class PressureKeeping {
  readonly #parts: PressureKeepingParts
  #state: PressureState = startPressure()
  #published: PressureDoc | undefined

  constructor(parts: PressureKeepingParts) {
    this.#parts = parts
  }

  /** What was published before this reign. */
  recall(doc: PressureDoc): void {
    this.#state = startPressure(doc, this.#parts.clock.now())
    this.#published = doc
  }

  /** The document while the pace is lowered. */
  documents(): DocumentChange[] {
    return this.#published === undefined ? [] : [{ key: PRESSURE_KEY, body: this.#published }]
  }

  /** One round; rejects when Redis is away. */
  async round(): Promise<void> {
    const { board, publisher, clock, logger } = this.#parts
    const { state, publish } = stepPressure(this.#state, clock.now(), await board.read())
    this.#state = state
    if (publish === undefined) return
    this.#published = publish
    logger.info({ ...publish }, 'the pace follows the pressure')
    publisher.queue([{ key: PRESSURE_KEY, body: publish }])
    await publisher.flush()
  }
}
