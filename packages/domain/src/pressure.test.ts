import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NO_PRESSURE, parsePressureDoc } from './pressure.ts'

const good = { factor: 0.05, reason: 'counter-1 waits 80 ms', at: 1 }

test('a pressure within its bounds is accepted, and no pressure is a document too', () => {
  expect(parsePressureDoc(good)).toEqual({ ok: true, value: good })
  expect(parsePressureDoc(NO_PRESSURE)).toEqual({ ok: true, value: NO_PRESSURE })
})

test.each([
  ['it would stop the sale', { factor: 0 }],
  ['it would all but stop the sale', { factor: 0.049 }],
  ['it would speed the sale up', { factor: 1.01 }],
  ['its factor is null', { factor: null }],
  ['its factor is no number', { factor: Number.NaN }],
  ['its reason is a novel', { reason: 'a'.repeat(201) }],
  ['its time is before all times', { at: -1 }],
])('a pressure is refused when %s', (_, bad) => {
  expect(parsePressureDoc({ ...good, ...bad }).ok).toBe(false)
})

test('whatever comes, the parser answers, and a factor that it lets through slows down and never stops', () => {
  const documents = fc.oneof(
    fc.anything(),
    fc.record({ factor: fc.double(), reason: fc.string(), at: fc.nat() }),
    fc.record({ factor: fc.double({ min: 0, max: 1 }), reason: fc.constant(''), at: fc.nat() }),
  )
  fc.assert(
    fc.property(documents, (value) => {
      const parsed = parsePressureDoc(value)
      if (parsed.ok) expect(parsed.value.factor >= 0.05 && parsed.value.factor <= 1).toBe(true)
      else expect(parsed.errors.length).toBeGreaterThan(0)
    }),
    { seed: 1 },
  )
})
