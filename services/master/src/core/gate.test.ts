import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type CanaryWord,
  chooseCanaries,
  GATE_MS,
  type GateCommand,
  type GateEvent,
  type GateState,
  IDLE,
  stepGate,
} from './gate.ts'

const documents = [{ key: 'sku:1:1', body: { policy: {} } }]
const names = ['limiter-1', 'middle-1']
const canaries = names.map((nodeId) => ({ nodeId, eventLoopMs: 5 }))
const word = (nodeId: string, more: Partial<CanaryWord> = {}): CanaryWord => ({
  ...{ nodeId, hasTaken: true, refused: [], eventLoopMs: 5 },
  ...more,
})
const words = (...ones: (CanaryWord | undefined)[]): GateEvent => ({ type: 'words', words: ones })
const both = words(word('limiter-1'), word('middle-1'))

/** Runs events at their times; returns all commands. */
function run(...events: [number, GateEvent][]): GateCommand[] {
  let state: GateState = IDLE
  return [[0, { type: 'begin', documents, canaries }] as [number, GateEvent], ...events].flatMap(([now, event]) => {
    const [next, commands] = stepGate(state, event, now)
    state = next
    return commands
  })
}

const tried: GateCommand = { type: 'try', documents, canaries: names }
const failed = (reason: unknown, isSlow = false) => [
  tried,
  { type: 'undo', keys: ['sku:1:1'], canaries: names },
  { type: 'fail', reason, isSlow },
]

test('documents that both canaries take, and live with for 200 ms, pass', () => {
  expect(run([100, both], [299, both])).toEqual([tried])
  expect(run([100, both], [300, both])).toEqual([tried, { type: 'pass' }])
})

test('a refusal of one of the documents fails the gate, one of another document does not', () => {
  const refusing = (key: string) =>
    words(word('limiter-1'), word('middle-1', { refused: [{ key, error: 'no number' }] }))
  expect(run([50, refusing('sku:1:1')])).toEqual(failed('middle-1 refused sku:1:1: no number'))
  expect(run([50, refusing('sku:9:9')], [300, refusing('sku:9:9')])).toContainEqual({ type: 'pass' })
})

test('a canary that does not ack within a second fails the gate', () => {
  const silent = words(word('limiter-1'), word('middle-1', { hasTaken: false }))
  expect(run([GATE_MS.try - 1, silent])).toEqual([tried])
  expect(run([GATE_MS.try, silent])).toEqual(failed('middle-1 did not ack in 1000 ms', true))
})

test('a canary that dies, or whose event loop stands still after the trial, fails the gate', () => {
  expect(run([100, both], [200, words(undefined, word('middle-1'))])).toEqual(failed('limiter-1 is gone'))
  const stalled = words(word('limiter-1', { eventLoopMs: 250 }), word('middle-1'))
  expect(run([100, both], [200, stalled])).toEqual(failed('the event loop of limiter-1 stood still for 250 ms', true))
})

test('a node that was slow before it took the trial is not blamed for it', () => {
  const slow = words(word('limiter-1', { hasTaken: false, eventLoopMs: 400 }), word('middle-1'))
  expect(run([10, slow])).toEqual([tried])
})

test('a canary that was slow already must become much slower to be blamed', () => {
  const slow = [{ nodeId: 'limiter-1', eventLoopMs: 300 }]
  const end = (eventLoopMs: number) => {
    let [state] = stepGate(IDLE, { type: 'begin', documents, canaries: slow }, 0)
    for (const now of [10, 210]) {
      const [next, commands] = stepGate(state, words(word('limiter-1', { eventLoopMs })), now)
      state = next
      if (commands.length > 0) return commands.at(-1)?.type
    }
    return undefined
  }
  expect([end(599), end(600)]).toEqual(['pass', 'fail'])
})

test('without canaries, or without documents, there is nothing to try', () => {
  for (const event of [
    { documents, canaries: [] },
    { documents: [], canaries },
  ])
    expect(stepGate(IDLE, { type: 'begin', ...event }, 0)).toEqual([IDLE, [{ type: 'pass' }]])
})

test('canaries are one linked limiter and one linked Middle node', () => {
  const node = (id: string, role: string, more = {}) => ({
    id,
    role,
    state: 'ready',
    isLinked: true,
    isLive: true,
    eventLoopMs: 5,
    ...more,
  })
  const nodes = [
    ...[
      node('limiter-0', 'limiter', { state: 'leaving' }),
      node('limiter-2', 'limiter'),
      node('limiter-1', 'limiter'),
      node('cart-1', 'cart'),
    ],
    ...[
      node('middle-1', 'middle', { isLinked: false }),
      node('middle-2', 'middle', { isLive: false }),
      node('middle-3', 'middle'),
    ],
  ]
  expect(chooseCanaries(nodes)).toEqual([
    { nodeId: 'limiter-1', eventLoopMs: 5 },
    { nodeId: 'middle-3', eventLoopMs: 5 },
  ])
  expect(chooseCanaries([])).toEqual([])
})

test('every trial ends in one answer within its times, and what fails is undone', () => {
  const said = fc.record({
    hasTaken: fc.boolean(),
    isGone: fc.boolean(),
    isRefused: fc.boolean(),
    eventLoopMs: fc.integer({ min: 0, max: 400 }),
  })
  fc.assert(
    fc.property(fc.array(fc.tuple(said, said), { minLength: 1, maxLength: 40 }), (many) => {
      let [state, commands] = stepGate(IDLE, { type: 'begin', documents, canaries }, 0)
      for (let now = 20; now <= GATE_MS.try + GATE_MS.watch + 40; now += 20) {
        const [a, b] = many[(now / 20) % many.length] ?? []
        const ones = [a, b].map((one, index) => {
          if (one === undefined || one.isGone) return undefined
          const refused = one.isRefused ? [{ key: 'sku:1:1', error: 'x' }] : []
          return word(names[index] ?? '', { hasTaken: one.hasTaken, eventLoopMs: one.eventLoopMs, refused })
        })
        const [next, more] = stepGate(state, words(...ones), now)
        state = next
        commands = [...commands, ...more]
      }
      const ends = commands.filter(({ type }) => type === 'pass' || type === 'fail')
      expect(ends).toHaveLength(1)
      expect(state).toEqual(IDLE)
      expect(commands.some(({ type }) => type === 'undo')).toBe(ends[0]?.type === 'fail')
    }),
  )
})
