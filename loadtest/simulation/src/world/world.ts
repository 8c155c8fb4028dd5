/**
 * The simulated world: one virtual time, one seeded chance, processes that own their timers.
 *
 * ```
 *   event queue ─► event ─► runs inside a process (or in none) ─► its promises settle ─► the next event
 * ```
 * Whatever a process starts while its event runs, timers and promises alike, belongs to it: when it is killed they never
 * come back, while it hangs they wait.
 */

import { SeededRandom } from '@bigtap/testkit'
import { EventQueue, type SimEvent } from './event-queue.ts'
import { SimProcess } from './process.ts'
import { realSetImmediate } from './virtual-timers.ts'

/** Wall clock of all clocks at the start. */
export const EPOCH_MS = 1_800_000_000_000

/** Something that must never be. */
export interface Violation {
  readonly at: number
  readonly what: string
}

/** Lines of the log that a failing seed shows. */
const LOG_LINES_MAX = 400

/** Time, chance, log and violations of one run. */
export class World {
  readonly seed: number
  readonly random: SeededRandom
  readonly log: string[] = []
  readonly hosts = new Map<string, string>()
  violation: Violation | undefined
  /** ms since the start. */
  now = 0
  events = 0
  /** The process whose event runs. */
  current: SimProcess | undefined
  isVerbose = false
  readonly #queue = new EventQueue()
  #hasRunProcess = false
  #hash = 0x811c9dc5

  constructor(seed: number) {
    this.seed = seed
    this.random = new SeededRandom(seed)
  }

  /** What happened, as one number: equal for two runs that did the same. */
  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0')
  }

  /** Schedules something that no process owns. */
  after(ms: number, run: () => void): SimEvent {
    return this.#queue.add(this.now + ms, run)
  }

  /** Schedules something that happens inside a process. */
  deliver(process: SimProcess, ms: number, run: () => void): SimEvent {
    return this.#queue.add(this.now + ms, () => this.runIn(process, run))
  }

  /** Runs something inside a process now: dropped when it is dead, kept for later while it hangs. */
  runIn(process: SimProcess, run: () => void): void {
    if (process.state === 'dead') return
    if (process.state === 'hung') {
      process.deferred.push(run)
      return
    }
    const before = this.current
    this.current = process
    this.#hasRunProcess = true
    try {
      run()
    } catch (error) {
      this.violate(`${process.id} threw ${describe(error)}`)
    }
    if (before !== undefined) this.current = before
  }

  /** Goes on until a time, or until something is violated. */
  async runUntil(end: number): Promise<void> {
    while (this.violation === undefined) {
      const event = this.#queue.take(end)
      if (event === undefined) break
      this.now = Math.max(this.now, event.at)
      this.events++
      this.mix(Math.round(this.now * 1000))
      event.run()
      if (!this.#hasRunProcess) continue
      this.#hasRunProcess = false
      await new Promise<void>((resolve) => realSetImmediate(resolve))
      this.current = undefined
    }
    if (this.violation === undefined) this.now = Math.max(this.now, end)
  }

  /** Starts a process on the machine of its name, or on the one that was chosen for it. */
  spawn(id: string, role: string): SimProcess {
    const host = this.hosts.get(id) ?? id
    return new SimProcess({ id, role, host }, this)
  }

  /** Whole numbers below n. */
  below(n: number): number {
    return Math.floor(this.random.next() * n)
  }

  between(min: number, max: number): number {
    return min + this.random.next() * (max - min)
  }

  chance(share: number): boolean {
    return this.random.next() < share
  }

  note(text: string): void {
    const line = `${this.now.toFixed(3).padStart(10)} ${text}`
    if (this.isVerbose) process.stdout.write(`${line}\n`)
    if (this.log.length >= LOG_LINES_MAX) this.log.shift()
    this.log.push(line)
  }

  violate(what: string): void {
    if (this.violation !== undefined) return
    this.violation = { at: this.now, what }
    this.note(`VIOLATION ${what}`)
  }

  mix(value: number): void {
    this.#hash = Math.imul(this.#hash ^ (value | 0), 0x01000193)
  }

  mixText(text: string): void {
    for (let index = 0; index < text.length; index++) this.mix(text.charCodeAt(index))
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message).split('\n').slice(0, 4).join(' | ') : String(error)
}
