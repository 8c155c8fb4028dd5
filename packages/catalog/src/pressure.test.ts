import { PRESSURE_KEY } from '@bigtap/domain'
import { expect, test } from 'vitest'
import { Documents } from './documents.ts'

const doc = { factor: 0.5, reason: 'counter counter-1 waits 100 ms, target 50 ms', at: 1 }

test('a front holds the pressure, and without a document there is none', () => {
  const documents = new Documents()
  expect(documents.pressure()).toBeUndefined()

  expect(documents.apply({ key: PRESSURE_KEY, revision: 1, body: doc })).toBe('applied')
  expect(documents.pressure()).toEqual(doc)

  documents.apply({ key: PRESSURE_KEY, revision: 2, body: null })
  expect(documents.pressure()).toBeUndefined()
})

test.each([{ ...doc, factor: 0 }, { ...doc, factor: 2 }, { ...doc, factor: null }, 'none', [doc]])(
  'an absurd pressure is refused, and the good one before it stands',
  (body) => {
    const documents = new Documents()
    documents.apply({ key: PRESSURE_KEY, revision: 1, body: doc })

    expect(documents.apply({ key: PRESSURE_KEY, revision: 2, body })).toBe('refused')
    expect(documents.pressure()).toEqual(doc)
  },
)
