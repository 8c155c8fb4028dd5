import type { NodeAck } from '@bigtap/protocol'
import { expect, test } from 'vitest'
import { NodeAcks } from './node-acks.ts'

const ack = (more: Partial<NodeAck> = {}): NodeAck => ({
  ...{
    nodeId: 'limiter-1',
    role: 'limiter',
    epoch: 3,
    upTo: 10,
    ahead: [],
    revision: 40,
    digest: 'aa',
    eventLoopMs: 2,
  },
  ...{ refused: [], isGone: false, clockOffsetMs: 4, roundTripMs: 2 },
  ...more,
})
const from = (router: string, now = 0, more = {}) => ({ router, clockOffsetMs: -1, roundTripMs: 4, now, ...more })

test('a node has taken what is covered, and what it took ahead of its turn', () => {
  const acks = new NodeAcks()
  acks.onReport([ack({ ahead: [13] })], from('r1'))
  expect([9, 10, 11, 13].map((sequence) => acks.hasTaken('limiter-1', 3, sequence))).toEqual([true, true, false, true])
  expect(acks.hasTaken('limiter-1', 4, 9)).toBe(false)
})

test('an older word over the other router takes nothing back', () => {
  const acks = new NodeAcks()
  acks.onReport([ack()], from('r1'))
  acks.onReport([ack({ upTo: 8, revision: 38, digest: 'old' })], from('r2', 5))
  expect(acks.get('limiter-1')).toMatchObject({ upTo: 10, revision: 40, digest: 'aa', at: 5 })
})

test('a clock is the sum of both links, and a slow round trip does not replace a quick one', () => {
  const acks = new NodeAcks()
  acks.onReport([ack()], from('r1'))
  expect(acks.get('limiter-1')).toMatchObject({ clockOffsetMs: 3, clockErrorMs: 3 })
  acks.onReport([ack({ clockOffsetMs: 80, roundTripMs: 160 })], from('r1', 1_000))
  expect(acks.get('limiter-1')).toMatchObject({ clockOffsetMs: 3, clockErrorMs: 3 })
  acks.onReport([ack({ clockOffsetMs: 80, roundTripMs: 160 })], from('r1', 6_000))
  expect(acks.get('limiter-1')).toMatchObject({ clockOffsetMs: 79, clockErrorMs: 82 })
})

test('a node is forgotten when no router has a link to it, or the routers are lost', () => {
  const acks = new NodeAcks()
  acks.onReport([ack()], from('r1'))
  acks.onReport([ack()], from('r2'))
  acks.onReport([ack({ isGone: true })], from('r1'))
  expect(acks.list()).toHaveLength(1)
  acks.onRouterLost('r2')
  expect(acks.list()).toEqual([])
})
