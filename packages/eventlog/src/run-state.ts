import { assert, backoffMs, type Logger } from '@bigtap/kernel'
import type { BatchHandler, ConsumerState, RecordBatch } from './port.ts'

const RETRY_BASE_MS = 50
const RETRY_MAX_MS = 2_000

/** Waits that a change of state cuts short. */
export class RunState {
  #state: ConsumerState = 'idle'
  #wakers = new Set<() => void>()

  get state(): ConsumerState {
    return this.#state
  }

  /** Still to go on, be it paused? */
  get isLive(): boolean {
    return this.#state === 'running' || this.#state === 'paused'
  }

  get hasStopped(): boolean {
    return this.#state === 'stopped'
  }

  start(): void {
    assert(this.#state === 'idle', `a consumer that is ${this.#state} cannot run`)
    this.#enter('running')
  }

  pause(): void {
    if (this.#state === 'running') this.#enter('paused')
  }

  resume(): void {
    if (this.#state === 'paused') this.#enter('running')
  }

  stopping(): void {
    if (this.#state !== 'stopped') this.#enter('stopping')
  }

  stopped(): void {
    this.#enter('stopped')
  }

  /** Ends all waits now. */
  wake(): void {
    const wakers = [...this.#wakers]
    this.#wakers.clear()
    for (const waker of wakers) waker()
  }

  /** Resolves after the time, or at the next wake. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#wakers.delete(done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.#wakers.add(done)
    })
  }

  #enter(state: ConsumerState): void {
    this.#state = state
    this.wake()
  }
}

/** What a delivery needs to know. `isOurs` turns false when the partition has moved to another consumer. */
export interface Delivery {
  readonly run: RunState
  readonly handler: BatchHandler
  readonly logger: Logger
  readonly isOurs: () => boolean
}

/** Gives a batch to its handler until that resolves; false when the consumer stops or the partition has moved first. */
export async function deliver(batch: RecordBatch, { run, handler, logger, isOurs }: Delivery): Promise<boolean> {
  for (let attempt = 0; run.isLive && isOurs(); attempt++) {
    try {
      await handler(batch)
      return isOurs()
    } catch (error) {
      const { topic, partition, records } = batch
      const said = error instanceof Error ? error.message : String(error)
      logger.warn({ topic, partition, position: records[0]?.position, attempt, error: said }, 'a batch was not handled')
    }
    const until = performance.now() + backoffMs({ attempt, baseMs: RETRY_BASE_MS, maxMs: RETRY_MAX_MS, draw: 0.5 })
    while (run.isLive && isOurs() && performance.now() < until) await run.wait(until - performance.now())
  }
  return false
}

/** Resolves when all have settled, or after the time. */
export async function settleWithin(msMax: number, promises: readonly Promise<unknown>[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, msMax)
  })
  await Promise.race([Promise.allSettled(promises), late])
  clearTimeout(timer)
}
