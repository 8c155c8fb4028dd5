import { NO_FIGURES } from '@bigtap/domain'
import { nullLogger } from '@bigtap/kernel'
import { expect, test } from 'vitest'
import { counterFigures } from './stats.ts'

test('a ledger that cannot be read is left out, the others are told', async () => {
  const ledger = {
    figures: (activityId: number) =>
      activityId === 2 ? Promise.reject(new Error('in doubt')) : Promise.resolve(new Map([[9, NO_FIGURES]])),
  }
  const activities = () => [1, 2, 3].map((id) => ({ id, state: id === 3 ? 'draft' : 'open' }))

  const told = await counterFigures({ gatherer: { waiting: 4, refused: 1 }, ledger, activities, logger: nullLogger })

  expect(told).toEqual({
    figures: { queueDepth: 4, callsRefused: 1 },
    skus: [{ activityId: 1, skuId: 9, state: '', figures: { ...NO_FIGURES } }],
  })
})
