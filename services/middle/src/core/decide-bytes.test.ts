import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { AskColumns } from '@bigtap/protocol'
import { expect, test } from 'vitest'
import { Decider, SLOT } from './decide.ts'

const ROWS = 4_096
const FRAMES = 100
const UID_BASE = 10_000_000_000
/** Far above what the test's own frame leaves, far below one small object per decision. */
const BYTES_MAX = 0.5

test('a decision makes no garbage: 0 bytes', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const decider = new Decider({ recordsMax: 1_000, pendingMax: 1_000 })
  decider.slots.fill(SLOT.own)
  decider.now = 1_800_000_000_000
  const sku = decider.skus.add(1, 1)
  decider.skus.gate[sku] = 0
  decider.skus.isServing[sku] = 1
  decider.skus.closesAt[sku] = Number.MAX_SAFE_INTEGER
  decider.skus.leaseUntil[sku] = Number.MAX_SAFE_INTEGER
  decider.skus.limitPerBuyer[sku] = 1
  decider.skus.available[sku] = 500
  const asks = new AskColumns(ROWS)
  for (let row = 0; row < ROWS; row++) asks.push(row, UID_BASE + row, 1, 1, 1)
  const round = () => {
    let sum = 0
    for (let row = 0; row < ROWS; row++) sum += decider.decide(asks, row)
    return sum
  }
  for (let frame = 0; frame < FRAMES; frame++) round()

  const grown: number[] = []
  for (let run = 0; run < 3; run++) {
    collect()
    const before = process.memoryUsage().heapUsed
    for (let frame = 0; frame < FRAMES; frame++) round()
    grown.push(process.memoryUsage().heapUsed - before)
  }

  expect(Math.min(...grown) / (ROWS * FRAMES)).toBeLessThan(BYTES_MAX)
})
