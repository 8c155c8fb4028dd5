/** In a file of its own: after the property tests of its neighbours the compiler's code is another, and allocates. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { AccessColumns, decodeAccessBatch, encodeAccessBatch } from './index.ts'

test('writing and reading a batch take nothing per row beyond the bytes and the addresses', () => {
  setFlagsFromString('--expose_gc')
  const gc = runInNewContext('gc') as () => void
  const rows = 4_096
  const batch = new AccessColumns(rows)
  const back = new AccessColumns(rows)
  batch.nodeId = 'limiter-1'
  batch.at = 1_800_000_000_000
  batch.rows = rows
  batch.addresses.push('203.0.113.250')
  for (let at = 0; at < rows; at++) {
    batch.uid[at] = Number.MAX_SAFE_INTEGER - at
    batch.device[at] = 2 ** 52 + at
    batch.call[at] = 1
    batch.outcome[at] = 11
  }
  const run = (batches: number) => {
    for (let i = 0; i < batches; i++) decodeAccessBatch(encodeAccessBatch(batch), back)
  }
  run(200)

  let bytesPerRow = Number.POSITIVE_INFINITY
  for (let round = 0; round < 20; round++) {
    gc()
    const before = process.memoryUsage().heapUsed
    run(10)
    bytesPerRow = Math.min(bytesPerRow, (process.memoryUsage().heapUsed - before) / (10 * rows))
  }

  expect(back.rows).toBe(rows)
  expect(bytesPerRow).toBeLessThan(0.5)
})
