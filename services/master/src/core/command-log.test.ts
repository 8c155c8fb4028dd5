import { encodeCommandBatches } from '@bigtap/protocol'
import { expect, test } from 'vitest'
import { CommandLog } from './command-log.ts'

const change = (key: string, body: unknown = { v: 1 }, isUrgent = false) => ({ key, body, isUrgent })

test('a new link is told where the catalog stands, then every command in its turn', () => {
  const log = new CommandLog(4)
  log.published([change('a')], 7)
  expect(log.greet('r1', 7)).toEqual({ epoch: 4, since: 1, upTo: 1, head: 7, commands: [] })

  const commands = log.published([change('b'), change('c', null)], 8)

  const batch = log.next('r1', commands, 8)
  expect(batch).toMatchObject({
    since: 1,
    upTo: 3,
    head: 8,
    commands: [{ sequence: 2 }, { sequence: 3, isDeleted: true }],
  })
  expect(log.next('unknown', commands, 8)).toBeUndefined()
})

test('a trial goes ahead and leaves the turn as it was; the next batch covers it', () => {
  const log = new CommandLog(4)
  log.greet('r1', 7)
  const trial = log.trial([{ key: 'a', body: {} }], 7, ['limiter-1'])
  expect(log.ahead('r1', trial, 7)).toMatchObject({ since: 0, upTo: 0, commands: [{ sequence: 1, isTrial: true }] })

  const batch = log.next('r1', log.published([change('a')], 8), 8)

  expect(batch).toMatchObject({ since: 0, upTo: 2, commands: [{ sequence: 2, key: 'a' }] })
})

test('every batch is one that the protocol takes', () => {
  const log = new CommandLog(4)
  log.greet('r1', 1)
  const batches = [
    log.next('r1', log.published([change('a', { x: 'y' }, true)], 2), 2),
    log.ahead('r1', log.trial([{ key: 'b', body: null }], 2, ['n1']), 2),
    log.next('r1', log.published([change('b')], 3), 3),
  ]
  for (const batch of batches) expect(batch && encodeCommandBatches(batch)).toHaveLength(1)
})
