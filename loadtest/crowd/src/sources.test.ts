import { expect, test } from 'vitest'
import { sourcesObstacle } from './sources.ts'

test('a machine that may open too few files is told the number and the command', async () => {
  expect(await sourcesObstacle(256)).toContain('ulimit -n 4096')
})

test.runIf(process.platform === 'linux')('a Linux machine has all the addresses', async () => {
  expect(await sourcesObstacle(10_000)).toBeUndefined()
})
