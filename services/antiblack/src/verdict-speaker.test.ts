import type { AbuseVerdict } from '@bigtap/domain'
import { nullLogger } from '@bigtap/kernel'
import type { AbuseVerdictBatch } from '@bigtap/protocol'
import { FakeClock, SeededRandom } from '@bigtap/testkit'
import { beforeEach, expect, test } from 'vitest'
import { verdictOf } from './test-support/verdicts.ts'
import { VerdictOutbox } from './verdict-outbox.ts'
import { SAY_MAX, VerdictSpeaker } from './verdict-speaker.ts'

let clock: FakeClock
let outbox: VerdictOutbox
let said: AbuseVerdictBatch[]
let onBoard: AbuseVerdict[]
let isAway: boolean
let mayBeSaid: (verdict: AbuseVerdict) => boolean
let speaker: VerdictSpeaker

beforeEach(() => {
  clock = new FakeClock(1_000)
  outbox = new VerdictOutbox({ outboxMax: 5_000 })
  said = []
  onBoard = []
  isAway = false
  mayBeSaid = () => true
  const board = {
    say: async (verdicts: readonly AbuseVerdict[]) => {
      if (isAway) throw new Error('redis is away')
      onBoard.push(...verdicts)
      return onBoard.length - verdicts.length
    },
  }
  speaker = new VerdictSpeaker({
    ...{ outbox, board, clock, random: new SeededRandom(1), logger: nullLogger },
    mayBeSaid: (verdict) => mayBeSaid(verdict),
    onSaid: (batch) => void said.push(batch),
  })
})

const push = (count: number) => {
  for (let uid = 1; uid <= count; uid++) outbox.push(verdictOf({ key: `${uid}` }))
}

test('verdicts go out in batches, each with its position', async () => {
  push(SAY_MAX + 2)

  await speaker.flush()

  expect(said.map(({ from, verdicts }) => [from, verdicts.length])).toEqual([
    [0, SAY_MAX],
    [SAY_MAX, 2],
  ])
})

test('while Redis is away verdicts wait, and when it is back they are said', async () => {
  isAway = true
  push(3)
  await speaker.flush()
  expect([outbox.size, speaker.faults]).toEqual([3, 1])

  await speaker.flush()
  expect(speaker.faults).toBe(1) // it waits before it tries again

  isAway = false
  clock.advance(2_000)
  await speaker.flush()

  expect(onBoard.map(({ key }) => key)).toEqual(['1', '2', '3'])
  expect(outbox.size).toBe(0)
})

test('what the board has told meanwhile is not said any more', async () => {
  mayBeSaid = ({ key }) => key !== '2'
  push(3)

  await speaker.flush()

  expect(onBoard.map(({ key }) => key)).toEqual(['1', '3'])
})
