import { setTimeout as sleep } from 'node:timers/promises'

const EVERY_MS = 20

/** Waits until a condition gives something true, and returns it; rejects after `msMax` with what was waited for. */
export async function waitFor<T>(
  what: string,
  condition: () => T | Promise<T>,
  msMax = 10_000,
): Promise<Exclude<T, false | undefined | null | 0>> {
  const deadline = performance.now() + msMax
  for (;;) {
    const value = await condition()
    if (value) return value as Exclude<T, false | undefined | null | 0>
    if (performance.now() > deadline) throw new Error(`waited ${msMax} ms in vain for: ${what}`)
    await sleep(EVERY_MS)
  }
}
