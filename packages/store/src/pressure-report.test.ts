import { expect, test } from 'vitest'
import type { PressureReport } from './pressure-board.ts'
import { createPressureReport, WaitMeter } from './pressure-report.ts'

/** Looks at these waits one after the other; returns what was written. */
async function reportsOf(waits: readonly number[]): Promise<number[]> {
  const written: PressureReport[] = []
  let look = 0
  const report = createPressureReport(
    { nodeId: 'counter-1', role: 'counter', targetMs: 50, readWaitMs: () => waits[look] ?? 0 },
    {
      report: async (one) => {
        written.push(one)
        return true
      },
    },
  )
  for (look = 0; look < waits.length; look++) await report()
  return written.map(({ waitMs }) => waitMs)
}

test('an idle service writes nothing', async () => {
  expect(await reportsOf([0, 0, 50, 49])).toEqual([])
})

test('a wait above the target is written at each look, and once more when it has fallen', async () => {
  expect(await reportsOf([10, 80, 120, 30, 20, 60, 0, 0])).toEqual([80, 120, 30, 60, 0])
})

test('one slow call among many is no pressure, and nothing is remembered for the next look', () => {
  const meter = new WaitMeter()
  meter.add(10, 99)
  meter.add(1_000)

  expect(meter.take()).toBeCloseTo(19.9)
  expect(meter.take()).toBe(0)
})
