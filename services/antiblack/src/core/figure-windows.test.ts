import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FigureWindows, WINDOW_MS } from './figure-windows.ts'
import { COUNT } from './row-facts.ts'

const BASE = 1_800_000_000_000
const FIGURES = [COUNT.asks, COUNT.hasty, COUNT.misdeeds]

interface Event {
  readonly at: number
  readonly figure: number
}

const events = fc.array(
  fc.record({ at: fc.integer({ min: 0, max: 150_000 }).map((ms) => BASE + ms), figure: fc.constantFrom(...FIGURES) }),
  { maxLength: 200 },
)

/** Slow and obvious: all events are kept; the bucket under way counts whole, the one before by the part that is left of it. */
function reference(all: readonly Event[], figure: number, windowMs: number, now: number): number {
  const bucketOf = (at: number) => Math.floor(at / windowMs)
  const inBucket = (bucket: number) => all.filter((one) => one.figure === figure && bucketOf(one.at) === bucket).length
  const part = now / windowMs - bucketOf(now)
  return inBucket(bucketOf(now)) + inBucket(bucketOf(now) - 1) * (1 - part)
}

function feed(windows: FigureWindows, place: number, list: readonly Event[]): void {
  for (const { at, figure } of list) {
    windows.open(place, at)
    windows.add(figure)
  }
}

test('windows count what a list of all events counts', () => {
  fc.assert(
    fc.property(events, fc.integer({ min: 0, max: 70_000 }), (list, later) => {
      const windows = new FigureWindows(3)
      const sorted = [...list].sort((one, other) => one.at - other.at)
      feed(windows, 1, sorted)
      const now = (sorted.at(-1)?.at ?? BASE) + later

      for (const figure of FIGURES) {
        for (const [window, windowMs] of WINDOW_MS.entries()) {
          expect(windows.count(1, figure, window, now)).toBeCloseTo(reference(list, figure, windowMs, now), 6)
          expect(windows.count(0, figure, window, now) + windows.count(2, figure, window, now)).toBe(0)
        }
      }
    }),
  )
})

test('a window is off by no more than what its older bucket holds', () => {
  fc.assert(
    fc.property(events, (list) => {
      const windows = new FigureWindows(1)
      const sorted = [...list].sort((one, other) => one.at - other.at)
      feed(windows, 0, sorted)
      const now = sorted.at(-1)?.at ?? BASE

      for (const [window, windowMs] of WINDOW_MS.entries()) {
        const asks = sorted.filter(({ figure }) => figure === COUNT.asks)
        const exact = asks.filter(({ at }) => at > now - windowMs).length
        const older = asks.filter(({ at }) => Math.floor(at / windowMs) === Math.floor(now / windowMs) - 1).length
        expect(Math.abs(windows.count(0, COUNT.asks, window, now) - exact)).toBeLessThanOrEqual(older + 1e-9)
      }
    }),
  )
})

test('rows that come out of order by less than a second count where they belong', () => {
  const late = fc.array(fc.tuple(fc.integer({ min: 0, max: 90_000 }), fc.integer({ min: 0, max: 990 })), {
    maxLength: 150,
  })
  fc.assert(
    fc.property(late, (list) => {
      const [ordered, shuffled] = [new FigureWindows(1), new FigureWindows(1)]
      const all = list.map(([ms, delay]) => ({ at: BASE + ms, figure: COUNT.asks, arrives: ms + delay }))
      feed(
        ordered,
        0,
        [...all].sort((one, other) => one.at - other.at),
      )
      feed(
        shuffled,
        0,
        [...all].sort((one, other) => one.arrives - other.arrives),
      )

      for (const now of [BASE + 90_000, BASE + 91_500, BASE + 130_000]) {
        for (const window of WINDOW_MS.keys()) {
          expect(shuffled.count(0, COUNT.asks, window, now)).toBe(ordered.count(0, COUNT.asks, window, now))
        }
      }
    }),
  )
})

test('a place that is given to somebody else counts nothing of the one before', () => {
  const windows = new FigureWindows(2)
  feed(windows, 1, [{ at: BASE, figure: COUNT.asks }])

  windows.clear(1)

  expect(WINDOW_MS.map((_, window) => windows.count(1, COUNT.asks, window, BASE))).toEqual([0, 0, 0])
})
