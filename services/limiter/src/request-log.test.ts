import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createMemoryLog, type LogRecord } from '@bigtap/eventlog'
import { nullLogger, nullMetrics, slotOf } from '@bigtap/kernel'
import { ACCESS_CALL, ACCESS_FLAG, ACCESS_OUTCOME, AccessColumns, decodeAccessBatch } from '@bigtap/protocol'
import { FakeClock, waitFor } from '@bigtap/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Requester } from './core/requester.ts'
import { RequestLog, type RequestLogSettings } from './request-log.ts'

const NOW = 1_800_000_000_000
const { buy } = ACCESS_CALL
const { granted, shed } = ACCESS_OUTCOME

interface Row {
  readonly key: string
  readonly nodeId: string
  readonly at: number
  readonly uid: number
  readonly address: string
  readonly device: number
  readonly what: readonly (number | undefined)[]
}

function logOf(settings: Partial<RequestLogSettings> = {}) {
  const clock = new FakeClock(NOW)
  const calls: { records: LogRecord[]; done: (error?: Error) => void }[] = []
  const send = (_topic: string, records: readonly LogRecord[]) =>
    new Promise<void>((resolve, reject) => {
      calls.push({ records: [...records], done: (error) => (error === undefined ? resolve() : reject(error)) })
    })
  const parts = { producer: { send }, clock, logger: nullLogger, metrics: nullMetrics }
  return { clock, calls, log: new RequestLog({ nodeId: 'limiter-1', ...settings }, parts) }
}

function who(uid: number, address = '203.0.113.7'): Requester {
  const requester = new Requester().begin(address, '')
  requester.uid = uid
  requester.activityId = 3
  requester.skuId = 4
  return requester
}

function rowsOf(records: readonly LogRecord[]): Row[] {
  const batch = new AccessColumns(8_192)
  return records.flatMap(({ key, value }) => {
    decodeAccessBatch(value, batch)
    return Array.from({ length: batch.rows }, (_, row) => ({
      ...{ key, nodeId: batch.nodeId, at: batch.at + (batch.afterMs[row] ?? 0), uid: batch.uid[row] ?? 0 },
      ...{ address: batch.addresses[batch.address[row] ?? 0] ?? '?', device: batch.device[row] ?? 0 },
      what: [
        ...[batch.activityId[row], batch.skuId[row], batch.call[row], batch.outcome[row]],
        ...[batch.flags[row], batch.tier[row]],
      ],
    }))
  })
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('what became of a request is written with who asked, when and from where', () => {
  const { log, calls, clock } = logOf()
  const device = new Requester().begin('', 'a phone').device
  const requester = Object.assign(who(7), { device })

  log.note(requester, buy, granted, 0, 1)
  clock.advance(40)
  log.note(who(7, '2001:db8::1'), buy, shed, ACCESS_FLAG.honeypot | ACCESS_FLAG.early, 5)
  log.flush()

  const [key, rest] = [`a${slotOf(7) & 15}`, { nodeId: 'limiter-1', uid: 7 }]
  expect(rowsOf(calls[0]?.records ?? [])).toEqual([
    { key, ...rest, at: NOW, address: '203.0.113.7', device, what: [3, 4, 1, 2, 0, 1] },
    { key, ...rest, at: NOW + 40, address: '2001:db8::1', device: 0, what: [3, 4, 1, 11, 40, 5] },
  ])
})

test('rows of one buyer stay in one group in their order; who shows no session is grouped by address', () => {
  const uid = fc.oneof(fc.constant(0), fc.maxSafeNat())
  fc.assert(
    fc.property(fc.array(fc.record({ uid, host: fc.nat(255) }), { maxLength: 300 }), (list) => {
      const { log, calls } = logOf()
      for (const one of list) log.note(who(one.uid, `198.51.100.${one.host}`), buy, shed, 0, 0)
      log.flush()

      const rows = calls.flatMap(({ records }) => rowsOf(records))
      expect(rows).toHaveLength(list.length)
      const groups = new Map<string, Set<string>>()
      for (const { uid: own, address, key } of rows) {
        const name = own === 0 ? address : `${own}`
        groups.set(name, (groups.get(name) ?? new Set()).add(key))
      }
      for (const keys of groups.values()) expect(keys.size).toBe(1)
      const order = (own: number, all: readonly { uid: number; address: string }[]) =>
        all.filter((row) => row.uid === own).map(({ address }) => address)
      const said = list.map((one) => ({ uid: one.uid, address: `198.51.100.${one.host}` }))
      for (const own of new Set(said.map((one) => one.uid)))
        if (own !== 0) expect(order(own, rows)).toEqual(order(own, said))
    }),
    { seed: 3, numRuns: 50 },
  )
})

test('the time of a batch only grows, even when the clock goes back: what comes twice can be told', async () => {
  const { log, calls, clock } = logOf()
  const atOf = (call: number) => rowsOf(calls[call]?.records ?? []).map(({ at }) => at)
  const send = async () => {
    log.note(who(7), buy, shed, 0, 0)
    log.flush()
    calls.at(-1)?.done()
    await settled()
  }

  await send()
  clock.advance(-5_000)
  await send()
  clock.advance(10_000)
  await send()

  expect([atOf(0), atOf(1), atOf(2)]).toEqual([[NOW], [NOW + 1], [NOW + 5_000]])
})

test('an address is written once per batch, and one that is no address not at all', () => {
  const { log, calls } = logOf()
  for (let at = 0; at < 50; at++) log.note(who(7), buy, shed, 0, 0)
  log.note(who(7, 'x'.repeat(60)), buy, shed, 0, 0)
  log.note(who(7, 'ключ'), buy, shed, 0, 0)
  log.flush()

  const batch = new AccessColumns(64)
  decodeAccessBatch(calls[0]?.records[0]?.value ?? new Uint8Array(), batch)
  expect([batch.rows, batch.addresses]).toEqual([52, ['203.0.113.7', '', '']])
})

test('a full group is sent early, drops what comes before that, and counts it', async () => {
  const { log, calls } = logOf({ rowsMax: 10 })
  for (let at = 0; at < 15; at++) log.note(who(7), buy, shed, 0, 0)
  expect([log.dropped, calls.length]).toEqual([5, 0])

  await settled()
  log.note(who(7), buy, shed, 0, 0)

  expect([log.dropped, rowsOf(calls[0]?.records ?? []).length]).toEqual([5, 10])
})

test('one send is under way at a time, what comes meanwhile waits within its bytes, the rest is dropped and counted', async () => {
  const { log, calls } = logOf({ waitingBytesMax: 400 })
  const round = () => {
    for (let at = 0; at < 5; at++) log.note(who(7), buy, shed, 0, 0)
    log.flush()
  }
  for (let at = 0; at < 8; at++) round()
  expect(calls).toHaveLength(1)
  const droppedMeanwhile = log.dropped

  calls[0]?.done()
  await settled()
  calls[1]?.done()
  await settled()
  round()
  calls[2]?.done()
  await settled()

  const written = calls.flatMap(({ records }) => rowsOf(records)).length
  expect(droppedMeanwhile).toBeGreaterThan(0)
  expect([log.dropped, log.sent]).toEqual([droppedMeanwhile, written])
  expect(written + droppedMeanwhile).toBe(45)
})

test('a send that failed is not repeated: its rows count as dropped, and the next ones go on', async () => {
  const { log, calls } = logOf()
  log.note(who(7), buy, shed, 0, 0)
  log.flush()
  calls[0]?.done(new Error('the log is away'))
  await settled()
  log.note(who(8), buy, granted, 0, 0)
  log.flush()
  calls[1]?.done()
  await settled()

  expect([log.dropped, log.sent, calls.length]).toEqual([1, 1, 2])
  expect(rowsOf(calls[1]?.records ?? []).map(({ uid }) => uid)).toEqual([8])
})

test('a node whose name cannot be written drops its rows, counts them and lives', () => {
  const { log, calls } = logOf({ nodeId: 'лимитер' })
  log.note(who(7), buy, shed, 0, 0)
  log.flush()

  expect([log.dropped, calls.length]).toEqual([1, 0])
})

test('rows reach the topic by themselves, and a stop sends what is there', async () => {
  const events = createMemoryLog()
  const seen: Row[] = []
  const consumer = events.consumer({ topic: 'access', group: 'g' })
  await consumer.run(async ({ records }) => void seen.push(...rowsOf(records)))
  const parts = { producer: events.producer(), clock: new FakeClock(NOW), logger: nullLogger, metrics: nullMetrics }
  const log = new RequestLog({ nodeId: 'limiter-1' }, parts)

  log.start()
  log.note(who(7), buy, granted, 0, 0)
  await waitFor('the first row', () => seen.length === 1)
  log.note(who(8), buy, shed, 0, 0)
  await log.stop()
  await waitFor('the last row', () => seen.length === 2)
  await events.close()

  expect([seen.map(({ uid }) => uid), log.dropped, log.sent]).toEqual([[7, 8], 0, 2])
})

test('a log that never answers does not keep the limiter from stopping', async () => {
  const { log } = logOf()
  log.note(who(7), buy, shed, 0, 0)

  await log.stop()

  expect(log.sent).toBe(0)
})

// The time and a uid are numbers on the heap, 16 bytes each where they are read; the columns and the map are there already.
test('a note makes no object', () => {
  const { log } = logOf({ rowsMax: 60_000 })
  const requester = who(7)
  const run = (count: number) => {
    for (let at = 0; at < count; at++) {
      requester.uid = 1 + (at % 1_000)
      log.note(requester, buy, shed, 0, 2)
    }
  }
  setFlagsFromString('--expose_gc')
  const collect = runInNewContext('gc') as () => void
  const grown = Array.from({ length: 12 }, () => {
    log.flush()
    run(1_000)
    collect()
    const before = process.memoryUsage().heapUsed
    run(20_000)
    return (process.memoryUsage().heapUsed - before) / 20_000
  })

  expect(Math.min(...grown)).toBeLessThan(64)
})
