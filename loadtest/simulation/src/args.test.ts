import { expect, test } from 'vitest'
import { parseArgs } from './args.ts'

test('a seed that is named alone is run alone', () => {
  expect(parseArgs(['--seed', '7'])).toMatchObject({ seed: 7, seeds: 1 })
  expect(parseArgs(['--seeds', '30', '--seed', '7'])).toMatchObject({ seed: 7, seeds: 30 })
})

test('what is not understood is named', () => {
  expect(parseArgs(['--sed', '7'])).toBe('what is --sed?')
  expect(parseArgs(['--seeds', 'many'])).toBe('--seeds needs a whole number from 1, not many')
  expect(parseArgs(['--without', 'care'])).toContain('fencing')
})
