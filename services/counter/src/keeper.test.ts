import { nullLogger } from '@bigtap/kernel'
import { waitFor } from '@bigtap/testkit'
import { expect, test } from 'vitest'
import { Keeper } from './keeper.ts'

const activities = () => [
  { id: 1, state: 'open' },
  { id: 2, state: 'draft' },
  { id: 3, state: 'closed' },
]

function rig(fence: number, work: (activityId: number) => Promise<boolean>) {
  const lease = { hold: async () => fence, release: async () => void released.push(true) }
  const released: boolean[] = []
  return { released, keeper: new Keeper({ name: 'test', everyMs: 5 }, { lease, activities, work, logger: nullLogger }) }
}

test('it works for activities that have a ledger, and one that fails does not keep the others waiting', async () => {
  const worked: number[] = []
  const { keeper, released } = rig(1, async (id) => {
    worked.push(id)
    if (id === 1) throw new Error('in doubt')
    return false
  })

  keeper.start()
  await waitFor('a second round', () => worked.length >= 4)
  await keeper.stop()

  expect(new Set(worked)).toEqual(new Set([1, 3]))
  expect(released).toEqual([true])
})

test('without the lease it does nothing', async () => {
  let worked = 0
  const { keeper } = rig(0, async () => {
    worked++
    return false
  })

  keeper.start()
  await new Promise((resolve) => setTimeout(resolve, 30))
  await keeper.stop()

  expect(worked).toBe(0)
})
