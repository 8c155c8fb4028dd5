import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NO_PLACE, RecencyList } from './recency-list.ts'

test('newest and oldest are what a list that is written anew each time says, also after it has grown', () => {
  const steps = fc.array(fc.record({ what: fc.constantFrom('use', 'oldest', 'out'), place: fc.nat(11) }))
  fc.assert(
    fc.property(steps, steps, (before, after) => {
      const list = new RecencyList(12)
      let model: number[] = []
      const take = ({ what, place }: { what: string; place: number }) => {
        const isLinked = model.includes(place)
        model = model.filter((one) => one !== place)
        if (what === 'use') {
          if (isLinked) list.use(place)
          else list.linkNewest(place)
          model.unshift(place)
          return
        }
        if (isLinked) list.unlink(place)
        if (what === 'out') return
        list.linkOldest(place)
        model.push(place)
      }

      before.forEach(take)
      list.grow(24)
      after.forEach(take)

      const order: number[] = []
      while (list.oldest !== NO_PLACE) {
        order.unshift(list.oldest)
        list.unlink(list.oldest)
      }
      expect(order).toEqual(model)
      expect([list.newest, list.places]).toEqual([NO_PLACE, 24])
    }),
    { seed: 11 },
  )
})
