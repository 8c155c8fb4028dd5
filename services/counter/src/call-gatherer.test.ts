import { setImmediate as turn } from 'node:timers/promises'
import { CodedError } from '@bigtap/kernel'
import { type LedgerCall, OUTCOME, VERB, type Verb } from '@bigtap/protocol'
import { LEDGER_BATCH_MAX, LEDGER_OUTCOME, type LedgerReply } from '@bigtap/store'
import { expect, test } from 'vitest'
import { CallGatherer } from './call-gatherer.ts'

const hex = (n: number) => n.toString(16).padStart(32, '0')
const call = (n: number, verb: Verb = VERB.reserve, activityId = 1): LedgerCall => ({
  ...{ verb, callId: n, tokenId: hex(n), orderId: `o${hex(n)}`, uid: n, activityId, skuId: 1 },
  ...{ quantity: 1, expiresAt: 1, requestId: '' },
})

/** A ledger that answers when it is told to. */
function rig(waitingMax = 1_000, isShut = (_activityId: number) => false) {
  const batches: { activityId: number; size: number; end(error?: Error): void }[] = []
  const run = (activityId: number, rows: readonly unknown[]) =>
    new Promise<LedgerReply[]>((resolve, reject) => {
      const end = (error?: Error) =>
        error ? reject(error) : resolve(rows.map(() => ({ outcome: LEDGER_OUTCOME.ok, order: undefined })))
      batches.push({ activityId, size: rows.length, end })
    })
  const faults: unknown[] = []
  const gatherer = new CallGatherer(
    { waitingMax },
    {
      ledger: { reserve: run, confirm: run, cancel: run },
      isShut,
      onReply: () => undefined,
      onFault: (_, error) => faults.push(error),
    },
  )
  const answers = new Map<number, number>()
  const add = (one: LedgerCall) => gatherer.add(one, (outcome) => answers.set(one.callId, outcome))
  return { gatherer, batches, faults, answers, add }
}

test('calls of one turn leave together, and what comes meanwhile fills the next batch', async () => {
  const { add, batches, answers, gatherer } = rig()
  for (let n = 1; n <= 3; n++) add(call(n))
  await turn()
  for (let n = 4; n <= 4 + LEDGER_BATCH_MAX; n++) add(call(n))
  await turn()
  expect(batches.map(({ size }) => size)).toEqual([3])

  batches[0]?.end()
  await turn()
  batches[1]?.end()
  await turn()
  batches[2]?.end()
  await turn()

  expect(batches.map(({ size }) => size)).toEqual([3, LEDGER_BATCH_MAX, 1])
  expect([...answers.values()]).toEqual(Array(4 + LEDGER_BATCH_MAX).fill(OUTCOME.ok))
  expect(gatherer.waiting).toBe(0)
})

test('one slow activity or verb does not hold up another', async () => {
  const { add, batches, answers } = rig()
  add(call(1))
  add(call(2, VERB.confirm))
  add(call(3, VERB.reserve, 2))
  await turn()

  batches[1]?.end()
  batches[2]?.end()
  await turn()

  expect([...answers.keys()].sort()).toEqual([2, 3])
})

test('too many that wait and calls that make no sense are answered at once', async () => {
  const { add, answers, gatherer } = rig(2)
  for (let n = 1; n <= 3; n++) add(call(n))
  add({ ...call(4), tokenId: '|' })

  expect([answers.get(3), answers.get(4), gatherer.refused]).toEqual([OUTCOME.unavailable, OUTCOME.badRequest, 1])
})

test('unknown is never failed: a batch without an answer is unavailable, no ledger at all is closed', async () => {
  const { add, batches, answers, faults } = rig()
  add(call(1))
  await turn()
  batches[0]?.end(new Error('timeout'))
  await turn()
  add(call(2))
  await turn()
  batches[1]?.end(new CodedError({ code: 'LEDGER_UNKNOWN', message: 'no ledger' }))
  await turn()

  expect([answers.get(1), answers.get(2)]).toEqual([OUTCOME.unavailable, OUTCOME.closed])
  expect(faults).toHaveLength(2)
})

test('while the counter of an activity is shut nothing new is reserved, and what is held goes on', async () => {
  const shut = rig(1_000, (activityId) => activityId === 1)
  shut.add(call(1))
  shut.add(call(2, VERB.cancel))
  shut.add(call(3, VERB.reserve, 2))
  await turn()

  expect(shut.answers.get(1)).toBe(OUTCOME.closed)
  expect(shut.batches.map(({ activityId }) => activityId)).toEqual([1, 2])
})
