import { type Logger, nullLogger } from '@bigtap/kernel'
import { waitFor } from '@bigtap/testkit'
import { expect, test } from 'vitest'
import { createWorker } from './worker.ts'

test('a round that takes longer than the interval is alone', async () => {
  let [under, most, rounds] = [0, 0, 0]
  const work = async () => {
    under++
    most = Math.max(most, under)
    await new Promise((resolve) => setTimeout(resolve, 5))
    under--
    rounds++
  }
  const worker = createWorker({ name: 'slow', everyMs: 1, work }, nullLogger)

  worker.start()
  await waitFor('three rounds', () => rounds >= 3)
  await worker.stop()

  expect([most, under]).toEqual([1, 0])
})

test('a failure is said once, its end too, and the rounds go on', async () => {
  const said: string[] = []
  const logger: Logger = {
    ...nullLogger,
    warn: (_fields, text) => said.push(text),
    info: (_f, text) => said.push(text),
  }
  let rounds = 0
  const work = () => {
    rounds++
    if (rounds <= 3) throw new Error('away')
  }
  const worker = createWorker({ name: 'shaky', everyMs: 1, work, startsAtOnce: true }, logger)

  worker.start()
  expect(rounds).toBe(1)
  await waitFor('it has worked', () => rounds >= 5)
  await worker.stop()

  expect(said).toEqual(['a round failed and comes again', 'a worker works again'])
})
