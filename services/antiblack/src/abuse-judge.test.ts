import { expect, test } from 'vitest'
import { judge, type Withheld } from './abuse-judge.ts'
import { StandingVerdicts } from './standing-verdicts.ts'
import { liftOf, ScriptedEngine, verdictOf } from './test-support/verdicts.ts'
import { VerdictOutbox } from './verdict-outbox.ts'

const NOW = 5_000

function rig() {
  const withheld: Withheld[] = []
  const parts = {
    ...{ engine: new ScriptedEngine(), outbox: new VerdictOutbox({ outboxMax: 100 }) },
    standing: new StandingVerdicts({ standingMax: 100, mercyMs: 10_000 }),
    onWithheld: (why: Withheld) => void withheld.push(why),
  }
  return { ...parts, withheld }
}

test('a verdict of the engine is put where it waits to be said', () => {
  const parts = rig()
  parts.engine.willSay(verdictOf())

  expect(judge(parts, NOW)).toBe(1)
  expect(parts.outbox.size).toBe(1)
})

test('evidence against one whom an operator has let off is forgotten, so that it never counts', () => {
  const parts = rig()
  parts.standing.hear(liftOf(), 0, NOW)
  parts.engine.willSay(verdictOf())

  expect(judge(parts, NOW)).toBe(0)
  expect(parts.engine.forgotten).toEqual(['uid:7'])
  expect(parts.withheld).toEqual(['mercy'])
})

test('a verdict that no limiter could read is withheld, and the others are said', () => {
  const parts = rig()
  parts.engine.willSay(verdictOf({ reason: 'x'.repeat(2_000) }), verdictOf({ key: '8' }))

  expect(judge(parts, NOW)).toBe(1)
  expect(parts.withheld).toEqual(['malformed'])
})
