/** What every log promises, over every adapter. */

import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Engine, kafkaObstacle, startKafka, startRedis, waitFor } from '@bigtap/testkit'
import { ConfigResourceTypes, Kafka, logLevel } from 'kafkajs'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import {
  type BatchHandler,
  type Consumer,
  createKafkaLog,
  createMemoryLog,
  createRedisLog,
  type EventLog,
  LogError,
  type LogRecord,
} from './index.ts'

const obstacle = kafkaObstacle()
const [redis, kafka] = await Promise.all([startRedis(), obstacle === undefined ? startKafka().catch(String) : obstacle])
const hasKafka = typeof kafka !== 'string'
if (!hasKafka) console.warn(`skipped: the event log on Kafka (${kafka})`)
const engines: Engine[] = hasKafka ? [redis, kafka] : [redis]
const memory = createMemoryLog()

afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.stop()))
})

const adapters: [string, () => EventLog][] = [
  ['memory', () => ({ ...memory, close: async () => undefined })],
  ['redis', () => createRedisLog({ url: redis.url, leaseMs: 800 })],
]
if (hasKafka) adapters.push(['kafka', () => createKafkaLog({ brokers: [kafka.url], leaseMs: 6_000 })])

const opened: (EventLog | Consumer)[] = []
let topics = 0
const newTopic = () => `topic-${process.pid}-${++topics}`
/** A send that was not taken is sent again, as its callers do; some records may then stand in the log twice. */
const sendUntilTaken = (log: EventLog, topic: string, what: LogRecord[]) =>
  waitFor('the log to take it', () =>
    log
      .producer()
      .send(topic, what)
      .then(
        () => true,
        () => false,
      ),
  )
const records = (count: number, keys: number, from = 0): LogRecord[] =>
  Array.from({ length: count }, (_, at) => ({ key: `k${(from + at) % keys}`, value: Buffer.from(`${from + at}`) }))

function kept<T extends EventLog | Consumer>(thing: T): T {
  opened.push(thing)
  return thing
}

/** A handler that notes what it saw. */
function collector() {
  const seen: { key: string; value: number; partition: number; position: string }[] = []
  const handler: BatchHandler = async ({ partition, records: batch }) => {
    for (const { key, value, position } of batch)
      seen.push({ key, value: Number(Buffer.from(value).toString()), partition, position })
  }
  return { seen, handler, values: () => seen.map(({ value }) => value) }
}

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at)
const sorted = (values: number[]) => [...new Set(values)].sort((a, b) => a - b)

afterEach(async () => {
  for (const thing of opened.splice(0).reverse()) await ('stop' in thing ? thing.stop() : thing.close())
})

describe.each(adapters)('a log on %s', (_, open) => {
  test('records of one key arrive in order, all of them, each key in one partition', async () => {
    const log = kept(open())
    const topic = newTopic()
    const { seen, handler } = collector()
    const producer = log.producer()

    for (let from = 0; from < 1_000; from += 100) await producer.send(topic, records(100, 17, from))
    await kept(log.consumer({ topic, group: 'g', recordsMax: 64 })).run(handler)
    await waitFor('all records', () => seen.length >= 1_000, 20_000)

    for (let key = 0; key < 17; key++) {
      const own = seen.filter((record) => record.key === `k${key}`)
      expect(own.map(({ value }) => value)).toEqual(numbers(1_000).filter((value) => value % 17 === key))
      expect(new Set(own.map(({ partition }) => partition)).size).toBe(1)
    }
    expect(new Set(seen.map(({ partition }) => partition)).size).toBeGreaterThan(1)
  })

  test('any bytes and any key come back as they were sent', async () => {
    const log = kept(open())
    const topic = newTopic()
    const got: LogRecord[] = []
    const sent = [
      { key: 'ключ: 小米 \n', value: Uint8Array.from({ length: 256 }, (_, at) => at) },
      { key: 'ключ: 小米 \n', value: new Uint8Array(0) },
      { key: 'ключ: 小米 \n', value: new Uint8Array(200_000).fill(255) },
    ]

    await log.producer().send(topic, sent)
    await log.producer().send(topic, [])
    await kept(log.consumer({ topic, group: 'g' })).run(async (batch) => void got.push(...batch.records))
    await waitFor('three records', () => got.length >= 3, 20_000)

    expect(got.map(({ key }) => key)).toEqual(sent.map(({ key }) => key))
    expect(got.every(({ value }, at) => Buffer.compare(value, sent[at]?.value ?? new Uint8Array()) === 0)).toBe(true)
  })

  test('a consumer that starts again goes on after what was handled', async () => {
    const log = kept(open())
    const topic = newTopic()
    const [before, after] = [collector(), collector()]

    await log.producer().send(topic, records(50, 5))
    const first = kept(log.consumer({ topic, group: 'g' }))
    await first.run(before.handler)
    await waitFor('the first half', () => before.seen.length >= 50, 20_000)
    await first.stop()
    await log.producer().send(topic, records(50, 5, 50))
    await kept(log.consumer({ topic, group: 'g' })).run(after.handler)
    await waitFor('the second half', () => after.seen.length >= 50, 20_000)

    expect(sorted(before.values())).toEqual(numbers(50))
    expect(sorted(after.values())).toEqual(numbers(100).slice(50))
  })

  test('each group gets everything', async () => {
    const log = kept(open())
    const topic = newTopic()
    const [one, two] = [collector(), collector()]

    await kept(log.consumer({ topic, group: 'one' })).run(one.handler)
    await log.producer().send(topic, records(20, 4))
    await waitFor('the first group', () => one.seen.length >= 20, 20_000)
    await kept(log.consumer({ topic, group: 'two' })).run(two.handler)
    await waitFor('the second group', () => two.seen.length >= 20, 20_000)

    expect(sorted(two.values())).toEqual(numbers(20))
  })

  test('what a consumer had in hand when it went away comes again to the next one', async () => {
    const log = kept(open())
    const topic = newTopic()
    let inHand = 0
    const { handler, values } = collector()

    await log.producer().send(topic, records(40, 8))
    const lost = kept(log.consumer({ topic, group: 'g', stopMs: 300 }))
    await lost.run(async (batch) => {
      inHand += batch.records.length
      await new Promise(() => undefined) // it will never say that it is done
    })
    await waitFor('something in hand', () => inHand > 0, 20_000)
    await lost.stop()
    await kept(log.consumer({ topic, group: 'g' })).run(handler)
    await waitFor('all records', () => sorted(values()).length >= 40, 30_000)

    expect(sorted(values())).toEqual(numbers(40))
  })

  test('a batch that is refused comes again until it is taken; other partitions go on meanwhile', async () => {
    const log = kept(open())
    const topic = newTopic()
    const seen: number[] = []
    let refusals = 0
    let isMended = false

    await log.producer().send(topic, records(80, 20))
    await kept(log.consumer({ topic, group: 'g' })).run(async ({ partition, records: batch }) => {
      if (partition === 0 && !isMended) {
        refusals++
        throw new Error('not now')
      }
      seen.push(...batch.map(({ value }) => Number(Buffer.from(value).toString())))
    })
    await waitFor('some refusals', () => refusals >= 3, 20_000)
    const whileRefused = await waitFor('the others', () => seen.length > 0 && seen.length)
    isMended = true
    await waitFor('all records', () => sorted(seen).length >= 80, 20_000)

    expect(whileRefused).toBeLessThan(80)
    expect(seen.length).toBe(80)
  })

  test('a paused consumer takes nothing until it is resumed, and then misses nothing', async () => {
    const log = kept(open())
    const topic = newTopic()
    const { seen, handler, values } = collector()
    const consumer = kept(log.consumer({ topic, group: 'g' }))

    await log.producer().send(topic, records(10, 5))
    await consumer.run(handler)
    await waitFor('the first records', () => seen.length >= 10, 20_000)
    consumer.pause()
    await log.producer().send(topic, records(100, 5, 10))
    await sleep(600)
    const whilePaused = seen.length
    const lag = await consumer.lag()
    consumer.resume()
    await waitFor('the rest', () => seen.length >= 110, 20_000)

    expect([whilePaused, lag, consumer.state]).toEqual([10, 100, 'running'])
    expect(sorted(values())).toEqual(numbers(110))
  })

  test('the lag counts what is not handled yet', async () => {
    const log = kept(open())
    const topic = newTopic()
    const { handler } = collector()
    const consumer = kept(log.consumer({ topic, group: 'g' }))

    const none = await consumer.lag()
    await log.producer().send(topic, records(300, 9))
    const all = await consumer.lag()
    await consumer.run(handler)
    await waitFor('no lag', async () => (await consumer.lag()) === 0, 20_000)

    expect([none, all]).toEqual([0, 300])
  })

  test('two consumers share the work, and each takes over from the other', async () => {
    const log = kept(open())
    const topic = newTopic()
    const [one, two] = [collector(), collector()]
    const first = kept(log.consumer({ topic, group: 'g' }))
    const second = kept(log.consumer({ topic, group: 'g' }))

    await first.run(one.handler)
    await second.run(two.handler)
    let sent = 0
    await waitFor(
      'both at work',
      async () => {
        await sendUntilTaken(log, topic, records(40, 40, sent))
        sent += 40
        await sleep(100)
        return one.seen.length > 0 && two.seen.length > 0
      },
      30_000,
    )
    await first.stop()
    await sendUntilTaken(log, topic, records(40, 40, sent))
    const all = () => sorted([...new Set([...one.values(), ...two.values()])])
    await waitFor('all records', () => all().length >= sent + 40, 30_000)

    expect(all()).toEqual(numbers(sent + 40))
  })

  test('what no log could take is refused at once', async () => {
    const log = kept(open())

    const refused = await log
      .producer()
      .send(newTopic(), [{ key: 'k', value: new Uint8Array(2_000_000) }])
      .catch((error: unknown) => error)

    expect(refused).toBeInstanceOf(LogError)
    expect(refused).toMatchObject({ code: 'LOG_TOO_LARGE', isRetriable: false })
  })

  test('a consumer stops in time and says its state', async () => {
    const log = kept(open())
    const consumer = kept(log.consumer({ topic: newTopic(), group: 'g' }))
    const states: string[] = [consumer.state]

    await consumer.run(async () => undefined)
    states.push(consumer.state)
    consumer.pause()
    states.push(consumer.state)
    const started = performance.now()
    await consumer.stop()
    states.push(consumer.state)

    expect(states).toEqual(['idle', 'running', 'paused', 'stopped'])
    expect(performance.now() - started).toBeLessThan(6_000)
  })
})

const bounded: [string, (topic: string) => EventLog][] = [
  ['memory', (topic) => createMemoryLog({ partitions: 1, bounded: { [topic]: 100 } })],
  ['redis', (topic) => createRedisLog({ url: redis.url, partitions: 1, bounded: { [topic]: 100 }, leaseMs: 800 })],
]
describe.each(bounded)('a bounded topic on %s', (_, open) => {
  test('takes what comes: the oldest fall, and are counted for the group that was behind', async () => {
    const topic = newTopic()
    const log = kept(open(topic))
    const { handler, values } = collector()
    const slow = kept(log.consumer({ topic, group: 'slow' }))
    const fast = kept(log.consumer({ topic, group: 'fast' }))
    await fast.run(async () => undefined)
    await slow.run(handler)
    await log.producer().send(topic, records(50, 5))
    await waitFor('the first records', async () => values().length === 50 && (await fast.lag()) === 0)
    slow.pause()

    await log.producer().send(topic, records(60, 5, 50))
    await waitFor('the fast group', async () => (await fast.lag()) === 0)
    await log.producer().send(topic, records(90, 5, 110))
    const whileBehind = [await slow.lag(), await slow.dropped(), await fast.dropped()]
    slow.resume()
    await waitFor('the rest', async () => (await slow.lag()) === 0)

    expect(whileBehind).toEqual([100, 50, 0])
    expect([await slow.dropped(), await fast.dropped(), await fast.lag()]).toEqual([50, 0, 0])
    expect(sorted(values())).toEqual([...numbers(50), ...numbers(200).slice(100)])
  })

  test('what fell while it was in hand counts as handled', async () => {
    const topic = newTopic()
    const log = kept(open(topic))
    const seen: number[] = []
    let release: () => void = () => undefined
    const isReleased = new Promise<void>((resolve) => {
      release = resolve
    })
    const consumer = kept(log.consumer({ topic, group: 'g' }))
    await log.producer().send(topic, records(80, 5))
    await consumer.run(async ({ records: batch }) => {
      seen.push(...batch.map(({ value }) => Number(Buffer.from(value).toString())))
      await isReleased
    })
    await waitFor('a batch in hand', () => seen.length === 80)

    await log.producer().send(topic, records(130, 5, 80))
    const meanwhile = await consumer.dropped()
    release()
    await waitFor('the rest', async () => (await consumer.lag()) === 0)

    expect(meanwhile).toBe(110)
    expect(await consumer.dropped()).toBe(30)
    expect(sorted(seen)).toEqual([...numbers(80), ...numbers(210).slice(110)])
  })

  test('gives a new group what is there, and does not charge it with what fell before', async () => {
    const topic = newTopic()
    const log = kept(open(topic))
    const { handler, values } = collector()
    await log.producer().send(topic, records(250, 5))
    const consumer = kept(log.consumer({ topic, group: 'g' }))

    const before = await consumer.lag()
    await consumer.run(handler)
    await waitFor('what is there', () => values().length === 100)
    await waitFor('no lag', async () => (await consumer.lag()) === 0)

    expect([before, await consumer.dropped()]).toEqual([100, 0])
    expect(values()).toEqual(numbers(250).slice(150))
  })

  test('does not touch its neighbours: a topic that is not bounded loses nothing', async () => {
    const topic = newTopic()
    const log = kept(open(topic))
    const other = newTopic()
    const { handler, values } = collector()

    await log.producer().send(other, records(500, 5))
    const consumer = kept(log.consumer({ topic: other, group: 'g' }))
    await consumer.run(handler)
    await waitFor('all records', () => values().length === 500)

    expect(await consumer.dropped()).toBe(0)
  })
})

test.skipIf(!hasKafka)('on Kafka a bounded topic is bounded by the broker, and another one keeps all', async () => {
  if (typeof kafka === 'string') return
  const [topic, other] = [newTopic(), newTopic()]
  const log = kept(createKafkaLog({ brokers: [kafka.url], bounded: { [topic]: 100 } }))
  for (const one of [topic, other]) await log.producer().send(one, records(1, 1))
  const admin = new Kafka({ brokers: [kafka.url], logLevel: logLevel.NOTHING }).admin()
  await admin.connect()

  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [topic, other].map((name) => ({ type: ConfigResourceTypes.TOPIC, name, configNames: ['retention.ms'] })),
  })
  await admin.disconnect()

  expect(resources.map(({ configEntries }) => configEntries[0]?.configValue)).toEqual(['600000', '-1'])
})

describe('a log whose server is away', () => {
  const away: [string, () => EventLog][] = [
    ['redis', () => createRedisLog({ url: 'redis://127.0.0.1:1', timeoutMs: 300 })],
    ['kafka', () => createKafkaLog({ brokers: ['127.0.0.1:1'], timeoutMs: 500 })],
  ]
  test.each(away)('%s: a send and a lag are refused within their time; a consumer waits and stops', async (_, open) => {
    const log = kept(open())
    const started = performance.now()
    const consumer = kept(log.consumer({ topic: 't', group: 'g' }))
    await consumer.run(async () => undefined)

    const refused = await Promise.allSettled([
      log.producer().send('t', records(1, 1)),
      consumer.lag(),
      consumer.dropped(),
    ])
    await consumer.stop()

    for (const result of refused) {
      expect(result).toMatchObject({ status: 'rejected', reason: { isRetriable: true } })
      expect(result.status === 'rejected' && result.reason).toBeInstanceOf(LogError)
    }
    expect(performance.now() - started).toBeLessThan(5_000)
  })
})

describe('a log on Redis', () => {
  test('goes on after its server was emptied', async () => {
    const server = await startRedis()
    engines.push(server)
    const log = kept(createRedisLog({ url: server.url, leaseMs: 800 }))
    const { seen, handler, values } = collector()
    const consumer = kept(log.consumer({ topic: 'orders', group: 'g' }))
    await consumer.run(handler)
    await log.producer().send('orders', records(30, 6))
    await waitFor('the first records', () => seen.length >= 30)

    await command(server, 'FLUSHALL')
    await log.producer().send('orders', records(30, 6, 30))
    await waitFor('the later records', () => sorted(values()).length >= 60)

    await waitFor('no lag', async () => (await consumer.lag()) === 0)
    expect(sorted(values())).toEqual(numbers(60))
  })

  test('loses nothing when its server is killed and starts again', async () => {
    const server = await startRedis({ appendfsync: 'always' })
    const log = kept(createRedisLog({ url: server.url, leaseMs: 800, timeoutMs: 300 }))
    const { handler, values } = collector()
    await kept(log.consumer({ topic: 'orders', group: 'g' })).run(handler)
    const producer = log.producer()

    let failures = 0
    const send = async (from: number) => {
      while (
        !(await producer.send('orders', records(10, 5, from)).then(
          () => true,
          () => false,
        ))
      ) {
        failures++
        await sleep(50)
      }
    }
    for (let from = 0; from < 100; from += 10) await send(from)
    await server.kill()
    const sending = send(100)
    await sleep(300)
    engines.push(await startRedis({ dir: server.dir, port: server.port }))
    await sending
    await waitFor('all records', () => sorted(values()).length >= 110)

    expect(sorted(values())).toEqual(numbers(110))
    expect(failures).toBeGreaterThan(0)
  })

  test('takes no more when its consumers are too far behind, and drops only what all groups have handled', async () => {
    const log = kept(
      createRedisLog({ url: redis.url, partitions: 1, recordsMax: 1_000, recordsKept: 200, leaseMs: 800 }),
    )
    const topic = newTopic()
    const { handler, values } = collector()
    const slow = kept(log.consumer({ topic, group: 'slow' }))
    const fast = kept(log.consumer({ topic, group: 'fast' }))
    await slow.run(async () => undefined)
    slow.pause()
    await log.producer().send(topic, records(1_000, 5))

    const refused = await log
      .producer()
      .send(topic, records(1, 1))
      .catch((error: unknown) => error)
    await fast.run(handler)
    await waitFor('the fast group', () => values().length >= 1_000)
    const lagOfSlow = await slow.lag()
    slow.resume()
    await waitFor('the slow group', async () => (await slow.lag()) === 0)
    await log.producer().send(topic, records(500, 5, 1_000))
    await waitFor('the rest', () => values().length >= 1_500)

    expect(refused).toMatchObject({ code: 'LOG_FULL', isRetriable: true })
    expect(lagOfSlow).toBe(1_000)
    expect(values()).toEqual(numbers(1_500))
  })

  test('a batch whose position could not be kept does not come again to the one who has handled it', async () => {
    const topic = newTopic()
    const log = kept(createRedisLog({ url: redis.url, partitions: 1, leaseMs: 800 }))
    const { seen, handler, values } = collector()
    const consumer = kept(log.consumer({ topic, group: 'g' }))
    await log.producer().send(topic, records(20, 5))

    await consumer.run(async (batch) => {
      await handler(batch)
      // The next call finds its connection cut.
      if (seen.length === 20) await command(redis, 'CLIENT KILL TYPE normal SKIPME yes')
    })
    await waitFor('the first batch', () => seen.length >= 20)
    await sendUntilTaken(log, topic, records(1, 1, 20))
    await waitFor('the last record', () => values().includes(20))
    await waitFor('no lag', async () => (await consumer.lag().catch(() => 1)) === 0)

    expect(values().filter((value) => value < 20)).toEqual(numbers(20))
  })

  test('a consumer that lost its partitions with a batch in hand cannot keep its position, and the batch comes again', async () => {
    const topic = newTopic()
    const log = kept(createRedisLog({ url: redis.url, partitions: 1, leaseMs: 400 }))
    const { seen, handler } = collector()
    const consumer = kept(log.consumer({ topic, group: 'g' }))
    await log.producer().send(topic, records(20, 5))

    await consumer.run(async (batch) => {
      await handler(batch)
      if (seen.length > 20) return
      // First a member, then the owner: the other way round our next claim would take the partition back between the two.
      await command(redis, `ZADD bt:log:{${topic}}:g:members ${Date.now() + 1_000} somebody-else`)
      await command(redis, `HSET bt:log:{${topic}}:g:owners 0 somebody-else`)
    })
    await waitFor('the batch again', () => seen.length >= 40)

    await waitFor('no lag', async () => (await consumer.lag()) === 0)
    expect(seen.length).toBe(40)
  })
})

/** Sends one command in its simplest form. */
async function command(server: Engine, line: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const socket = connect(server.port, '127.0.0.1', () => socket.write(`${line}\r\n`))
    socket.once('data', () => {
      socket.destroy()
      resolve()
    })
    socket.once('error', reject)
  })
}
