/**
 * setTimeout, setInterval and setImmediate on virtual time: the product's classes use the global ones, and get these while
 * a simulation runs. A timer belongs to the process that made it; made outside of any process it is a real one.
 */

import type { SimEvent } from './event-queue.ts'
import type { World } from './world.ts'

/** The real one: lets all promises settle. */
export const realSetImmediate = globalThis.setImmediate

type Callback = (...args: unknown[]) => void

const real = {
  setTimeout: globalThis.setTimeout,
  setInterval: globalThis.setInterval,
  setImmediate: globalThis.setImmediate,
  clearTimeout: globalThis.clearTimeout,
  clearInterval: globalThis.clearInterval,
  clearImmediate: globalThis.clearImmediate,
}
/** One turn of an event loop: what comes within it is merged. */
const TURN_MS = 0.02
const TIMEOUT_MS_MIN = 1

class VirtualTimer {
  event: SimEvent | undefined

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }

  clear(): void {
    if (this.event !== undefined) this.event.isCancelled = true
    this.event = undefined
  }
}

/** Puts virtual timers in the place of the real ones; returns how to put the real ones back. */
export function installTimers(world: World): () => void {
  const clear = (fallback: (timer: never) => void) => (timer: unknown) =>
    timer instanceof VirtualTimer ? timer.clear() : fallback(timer as never)
  const globals: Record<string, unknown> = {
    setTimeout: (run: Callback, ms = 0, ...args: unknown[]) =>
      once(world, Math.max(TIMEOUT_MS_MIN, ms), () => run(...args)) ?? real.setTimeout(run, ms, ...args),
    setImmediate: (run: Callback, ...args: unknown[]) =>
      once(world, TURN_MS, () => run(...args)) ?? real.setImmediate(run, ...args),
    setInterval: (run: Callback, ms = 0, ...args: unknown[]) =>
      again(world, Math.max(TIMEOUT_MS_MIN, ms), () => run(...args)) ?? real.setInterval(run, ms, ...args),
    clearTimeout: clear(real.clearTimeout),
    clearInterval: clear(real.clearInterval),
    clearImmediate: clear(real.clearImmediate),
  }
  Object.assign(globalThis, globals)
  return () => Object.assign(globalThis, real)
}

function once(world: World, ms: number, run: () => void): VirtualTimer | undefined {
  const process = world.current
  if (process === undefined) return undefined
  const timer = new VirtualTimer()
  timer.event = world.deliver(process, ms, () => {
    // A hung process finds a timer that was cleared meanwhile.
    if (timer.event !== undefined) run()
  })
  return timer
}

function again(world: World, ms: number, run: () => void): VirtualTimer | undefined {
  const process = world.current
  if (process === undefined) return undefined
  const timer = new VirtualTimer()
  const round = () => {
    if (timer.event === undefined) return
    timer.event = world.deliver(process, ms, round)
    run()
  }
  timer.event = world.deliver(process, ms, round)
  return timer
}
