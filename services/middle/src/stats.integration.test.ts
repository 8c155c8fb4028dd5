import { decodeStats, encodeStats } from '@bigtap/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { middleStats } from './stats.ts'
import { type SaleRig, startRig } from './test-support/sale-rig.ts'

let rig: SaleRig

beforeAll(async () => {
  rig = await startRig()
})

afterAll(() => rig.stop())

test('a node tells what it granted, and the figures of the ledger with their age', async () => {
  const running = await rig.start('a', await rig.sale({ stock: 10 }))
  await running.hasPlaces()
  for (const uid of [1, 2, 3]) await running.buy(uid)
  const process = { cpu: 0.1, rss: 1, eventLoopMs: 0 }
  const catalog = { revision: 4, digest: 'abc', refused: [] }

  const stats = middleStats(running.node, { nodeId: 'a', now: Date.now(), links: 1, catalog, process })

  expect(decodeStats(encodeStats(stats))).toEqual(stats)
  expect(stats).toMatchObject({
    ...{ nodeId: 'a', role: 'middle', labels: { digest: 'abc', state: 'ready' } },
    figures: { links: 1, revision: 4, records: 3 },
    skus: [{ activityId: rig.activity, skuId: 1, figures: { granted: 3, stock: 10 } }],
  })
  const [sku] = stats.skus
  expect(sku?.figures.ledgerAgeMs).toBeGreaterThanOrEqual(0)
  expect(sku?.figures).not.toHaveProperty('reservedTotal')
})
