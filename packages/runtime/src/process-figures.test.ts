import { expect, test } from 'vitest'
import { watchProcess } from './process-figures.ts'

test('a process that works hard is seen to', async () => {
  const read = watchProcess()
  await new Promise((resolve) => setTimeout(resolve, 20))

  const until = performance.now() + 300
  let sum = 0
  while (performance.now() < until) sum += Math.sqrt(sum + 1)
  await new Promise((resolve) => setTimeout(resolve, 20))
  const { cpu, rss, eventLoopMs } = read()

  expect(sum).toBeGreaterThan(0)
  expect(cpu).toBeGreaterThan(0)
  expect(rss).toBeGreaterThan(1_000_000)
  expect(eventLoopMs).toBeGreaterThan(0)
})

test('two who ask at the same time see the same', () => {
  const read = watchProcess()

  expect(read()).toBe(read())
})
