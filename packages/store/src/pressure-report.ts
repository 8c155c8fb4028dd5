/** How a service says that work waits too long at it. */

import type { Store } from './connection.ts'
import { PressureBoard } from './pressure-board.ts'

const EVERY_MS = 100

/** Who reports, what is too long, and how long work waits now. */
export interface PressureSettings {
  readonly nodeId: string
  readonly role: string
  readonly targetMs: number
  readWaitMs(): number
}

/** The report as what a service's worker does. */
export function pressureWork(store: Store, settings: PressureSettings) {
  return { name: 'pressure', everyMs: EVERY_MS, work: createPressureReport(settings, new PressureBoard(store)) }
}

/**
 * One look, for a worker that comes each 100 ms. It writes while the wait is above the target, and once more when it has
 * fallen below, so that the pressure ends before its last report is too old; an idle platform writes nothing.
 */
export function createPressureReport(settings: PressureSettings, board: Pick<PressureBoard, 'report'>) {
  const { nodeId, role, targetMs } = settings
  let wasAbove = false
  return async (): Promise<void> => {
    const waitMs = Math.round(settings.readWaitMs())
    const isAbove = waitMs > targetMs
    if (!isAbove && !wasAbove) return
    wasAbove = isAbove
    await board.report({ node: nodeId, role, waitMs, targetMs })
  }
}

/** The mean of what was measured since the last look; one slow call among hundreds is no pressure. */
export class WaitMeter {
  #sumMs = 0
  #count = 0

  /** `count` calls waited this long each. */
  add(waitMs: number, count = 1): void {
    this.#sumMs += waitMs * count
    this.#count += count
  }

  /** The mean in ms, 0 when nothing was measured; begins anew. */
  take(): number {
    const mean = this.#count === 0 ? 0 : this.#sumMs / this.#count
    this.#sumMs = 0
    this.#count = 0
    return mean
  }
}
