import { nullMetrics } from '@bigtap/kernel'
import { decodeStats, encodeStats } from '@bigtap/protocol'
import { expect, test } from 'vitest'
import { AnswerCounts } from './answer-counts.ts'
import { AskTable } from './core/ask-table.ts'
import { problem, retryReply } from './core/replies.ts'
import { SkuCounts } from './core/sku-counts.ts'
import { limiterStats } from './stats.ts'

test('a limiter tells what it counted, by SKU and by answer, in a form that fits the wire', () => {
  const asks = new AskTable({ capacity: 4, askMsMax: 100 })
  const answers = new AnswerCounts(nullMetrics)
  const skus = new SkuCounts()
  const row = skus.rowOf(3, 9)
  skus.asks[row] = 12
  skus.shed[row] = 1
  asks.open(1, 3, 9, 0, { reply: () => undefined })
  for (const reply of [problem('sold_out'), problem('sold_out'), retryReply('overloaded', 0)]) answers.count(reply)
  const catalog = { revision: 5, digest: 'abc', refused: [] }
  const figures = {
    edge: { held: 1, connections: 40 },
    asks,
    shedding: { threshold: 80, waitMs: 7, shed: Float64Array.of(0, 0, 0, 0, 2, 9) },
    answers,
    skus,
    limits: { refused: { uid: 3, ip: 0, subnet: 0, sku: 0, global: 4 }, shareAt: () => 0.25, keys: 9 },
    catalog,
  }

  const stats = limiterStats(figures, 'limiter-1', 1_000.7, { cpu: 0.5, rss: 1, eventLoopMs: 2 })

  expect(decodeStats(encodeStats(stats))).toEqual(stats)
  expect(stats).toMatchObject({
    ...{ nodeId: 'limiter-1', role: 'limiter', at: 1_000, labels: { digest: 'abc' } },
    figures: {
      connections: 40,
      queueDepth: 1,
      asks: 12,
      shed: 1,
      'answers.sold_out': 2,
      cpu: 0.5,
      revision: 5,
      shedRanks: 16,
      queueWaitMs: 7,
      budgetShare: 0.25,
      'limited.global': 4,
      'shedOf.5': 9,
    },
    skus: [{ activityId: 3, skuId: 9, state: '', figures: { asks: 12, shed: 1 } }],
  })
})
