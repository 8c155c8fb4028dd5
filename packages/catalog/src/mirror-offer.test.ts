import {
  type ActivityDoc,
  activityKey,
  DEFAULT_WAITING,
  DOCUMENT_BYTES_MAX,
  NO_CHALLENGE,
  NO_RESERVATION,
  statusKey,
} from '@bigtap/domain'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import type { Command, CommandBatch } from '@bigtap/protocol'
import { type CatalogHead, documentHash } from '@bigtap/store'
import { FakeClock } from '@bigtap/testkit'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { TRIAL_MS } from './command-intake.ts'
import type { IncomingDocument } from './documents.ts'
import { Mirror } from './mirror.ts'

const ACTIVITY: ActivityDoc = {
  ...{ id: 7, title: 'Phone', state: 'open', stage: 'middle', opensAt: 1_000, closesAt: 2_000 },
  ...{
    rule: 'once-per-product',
    admission: 'direct',
    waiting: DEFAULT_WAITING,
    challenge: NO_CHALLENGE,
    reservation: NO_RESERVATION,
    skuIds: [1],
    accessLimits: [],
  },
}
const titled = (title: string) => ({ ...ACTIVITY, title })
const status = (free: number) => ({
  ...{ activityId: 7, skuId: 1, soldOut: free === 0, exhausted: free === 0, free, held: 0, sold: 5, at: 1_500 },
})

/** The catalog as master has published it, and how often fronts have read it. */
class Catalog {
  newest = 0
  reads = 0
  docs = new Map<string, { revision: number; text: string }>()

  publish(key: string, body: unknown): number {
    this.docs.set(key, { revision: ++this.newest, text: body === null ? '' : JSON.stringify(body) })
    return this.newest
  }

  async head(): Promise<CatalogHead> {
    const hashes = [...this.docs]
      .filter(([, { text }]) => text !== '')
      .map(([key, { text }]) => documentHash(key, text))
    const digest = (hashes.reduce((all, one) => all ^ one, 0) >>> 0).toString(16).padStart(8, '0')
    return { revision: this.newest, digest, epoch: 0 }
  }

  async readSince(revision: number): Promise<IncomingDocument[]> {
    this.reads++
    return [...this.docs]
      .filter(([, doc]) => doc.revision > revision)
      .map(([key, doc]) => ({ key, revision: doc.revision, body: doc.text === '' ? null : JSON.parse(doc.text) }))
  }
}

let catalog: Catalog
let clock: FakeClock
let mirror: Mirror
let heard: string[][]
let sequence: number
const alarms: string[] = []

beforeEach(() => {
  catalog = new Catalog()
  clock = new FakeClock()
  alarms.length = 0
  const logger = { ...nullLogger, error: (_fields: object, message: string) => void alarms.push(message) }
  mirror = new Mirror({ service: 'test' }, { catalog, logger, clock, metrics: nullMetrics })
  heard = []
  mirror.onChange((keys) => heard.push([...keys]))
  sequence = 0
})
afterEach(() => mirror.stop())

const command = (key: string, body: unknown, init: Partial<Command> = {}): Command => ({
  ...{ sequence: ++sequence, key, revision: catalog.newest, body: Buffer.from(JSON.stringify(body) ?? '') },
  ...{ isUrgent: false, isDeleted: false, isTrial: false, isPull: false, nodes: [] },
  ...init,
})
const batch = (since: number, commands: Command[], init: Partial<CommandBatch> = {}): CommandBatch => ({
  ...{ epoch: 1, since, upTo: commands.at(-1)?.sequence ?? since, head: catalog.newest, commands },
  ...init,
})
const published = (key: string, body: unknown): Command => {
  const revision = catalog.publish(key, body)
  return command(key, body, { revision })
}
/** A link that stands, over which everything came so far. */
const linked = async (via = 'r1'): Promise<void> => {
  mirror.offer(batch(sequence, []), via)
  await mirror.pull()
}

describe('documents that come over a link', () => {
  test('are applied at once, and the catalog is not read for them', async () => {
    await linked()
    const reads = catalog.reads
    const first = published(activityKey(7), titled('New'))
    const second = published(statusKey(7, 1), status(3))

    mirror.offer(batch(0, [first, second]), 'r1')
    await mirror.pull()

    expect(mirror.activity(7)?.title).toBe('New')
    expect(mirror.status(7, 1)?.free).toBe(3)
    expect(mirror.revision).toBe(2)
    expect(heard).toEqual([['activity:7', 'status:7:1']])
    expect(catalog.reads).toBe(reads)
  })

  test('change something once, over however many routers they come', async () => {
    await linked('r1')
    await linked('r2')
    const one = batch(0, [published(activityKey(7), titled('New'))])

    mirror.offer(one, 'r1')
    mirror.offer(one, 'r2')

    expect(heard).toEqual([['activity:7']])
  })

  test('do not replace a newer one that came on another way', async () => {
    const old = published(activityKey(7), titled('Old'))
    published(activityKey(7), titled('New'))
    await mirror.pull()

    mirror.offer(batch(0, [old]), 'r1')

    expect(mirror.activity(7)?.title).toBe('New')
  })

  test('are deleted by a command, and a late copy from before does not bring them back', async () => {
    const old = published(activityKey(7), ACTIVITY)
    await mirror.pull()
    catalog.publish(activityKey(7), null)
    mirror.offer(batch(0, [old, command(activityKey(7), undefined, { isDeleted: true })]), 'r1')
    mirror.offer(batch(0, [old]), 'r2')

    expect(mirror.activity(7)).toBeUndefined()
  })

  test('that came ahead of the others count when the others have come', async () => {
    await linked()
    const slow = published(activityKey(7), titled('New'))
    const urgent = { ...published(statusKey(7, 1), status(0)), isUrgent: true }
    mirror.offer(batch(0, [urgent], { upTo: 0 }), 'r1')
    const ahead = [mirror.status(7, 1)?.soldOut, mirror.activity(7), mirror.revision]

    mirror.offer(batch(0, [slow], { upTo: 2 }), 'r1')

    expect(ahead).toEqual([true, undefined, 0])
    expect([mirror.activity(7)?.title, mirror.revision]).toEqual(['New', 2])
  })

  test('too large to go inline are read from the catalog', async () => {
    await mirror.start()
    await linked()
    catalog.publish(activityKey(7), ACTIVITY)
    mirror.offer(batch(0, [command(activityKey(7), undefined, { isPull: true })]), 'r1')
    await new Promise(setImmediate)

    expect(mirror.activity(7)?.title).toBe('Phone')
  })
})

describe('a gap', () => {
  test.each([
    ['a lost frame', () => batch(5, [], { upTo: 5 })],
    ['another leader', () => batch(0, [], { epoch: 2 })],
    ['a router that has just started and knows nothing', () => batch(0, [], { epoch: 0, head: 0 })],
    ['a head that nothing brought', () => batch(0, [])],
  ])('after %s the catalog is read at once', async (_what, next) => {
    await linked()
    await mirror.start()
    catalog.publish(activityKey(7), ACTIVITY)

    mirror.offer(next(), 'r1')
    await new Promise(setImmediate)

    expect(mirror.activity(7)?.title).toBe('Phone')
    expect(mirror.revision).toBe(1)
  })

  test('in the middle of a revision is read too', async () => {
    await mirror.start()
    await linked()
    const came = command(activityKey(7), ACTIVITY, { revision: 1 })
    const lost = command(statusKey(7, 1), status(0), { revision: 1 })
    catalog.publish(activityKey(7), ACTIVITY)
    catalog.docs.set(statusKey(7, 1), { revision: 1, text: JSON.stringify(status(0)) })

    mirror.offer(batch(0, [came]), 'r1')
    mirror.offer(batch(lost.sequence, []), 'r1')
    await new Promise(setImmediate)

    expect(mirror.status(7, 1)?.soldOut).toBe(true)
  })

  test('what a deposed leader still sends is not taken', async () => {
    await linked()
    mirror.offer(batch(0, [], { epoch: 2 }), 'r1')
    const answer = mirror.offer(batch(0, [published(activityKey(7), ACTIVITY)]), 'r2')

    expect(answer.isStale).toBe(true)
    expect(mirror.activity(7)).toBeUndefined()
  })
})

describe('a trial', () => {
  const tried = (body: unknown, init: Partial<Command> = {}): CommandBatch => {
    const one = command(activityKey(7), body, { isTrial: true, ...init })
    return batch(0, [one], { upTo: 0 })
  }
  beforeEach(async () => {
    catalog.publish(activityKey(7), ACTIVITY)
    await linked()
    heard.length = 0
  })

  test('lies over the published document and is in no digest; nothing following, it is undone', async () => {
    const { digest } = mirror
    mirror.offer(tried(titled('Trial')), 'r1')
    const during = [mirror.activity(7)?.title, mirror.digest]
    clock.advance(TRIAL_MS)
    await mirror.pull()

    expect(during).toEqual(['Trial', digest])
    expect(mirror.activity(7)?.title).toBe('Phone')
    expect(heard).toEqual([['activity:7'], ['activity:7']])
  })

  test('is replaced by the published one', async () => {
    mirror.offer(tried(titled('Trial')), 'r1')
    mirror.offer(batch(0, [published(activityKey(7), titled('New'))]), 'r1')
    clock.advance(TRIAL_MS)
    await mirror.pull()

    expect(mirror.activity(7)?.title).toBe('New')
  })

  test('that goes past what was published before it was made is not ended by that', async () => {
    const before = published(activityKey(7), titled('Before'))
    mirror.offer(tried(titled('Trial')), 'r1')
    mirror.offer(batch(0, [before]), 'r1')
    const during = mirror.activity(7)?.title
    clock.advance(TRIAL_MS)
    await mirror.pull()

    expect([during, mirror.activity(7)?.title]).toEqual(['Trial', 'Before'])
  })

  test('is over when the old document comes again, or when it is called off', () => {
    mirror.offer(tried(titled('Trial')), 'r1')
    mirror.offer(tried(ACTIVITY), 'r1')
    const again = mirror.activity(7)?.title
    mirror.offer(tried(titled('Other')), 'r1')
    mirror.offer(tried(undefined, { isDeleted: true }), 'r1')

    expect([again, mirror.activity(7)?.title]).toEqual(['Phone', 'Phone'])
  })

  test('of a document that was not there before leaves nothing', async () => {
    mirror.offer(batch(0, [command(statusKey(7, 1), status(2), { isTrial: true })], { upTo: 0 }), 'r1')
    const during = mirror.status(7, 1)?.free
    clock.advance(TRIAL_MS)
    await mirror.pull()

    expect([during, mirror.status(7, 1)]).toEqual([2, undefined])
  })

  test('that fails its checks is refused with the reason, and nothing changes', () => {
    const { refused } = mirror.offer(tried({ ...ACTIVITY, opensAt: null }), 'r1')

    expect(refused).toMatchObject([{ key: 'activity:7', error: expect.stringContaining('opensAt') }])
    expect(mirror.activity(7)?.title).toBe('Phone')
    expect(heard).toEqual([])
  })

  test('that comes late over a second router, after a newer one or after the published one, is passed over', () => {
    const late = tried(titled('Late'))
    const newer = tried(titled('Newer'))
    mirror.offer(newer, 'r1')
    mirror.offer(late, 'r2')
    const first = mirror.activity(7)?.title
    mirror.offer(batch(0, [published(activityKey(7), titled('New'))]), 'r1')
    mirror.offer({ ...newer, commands: newer.commands.map((one) => ({ ...one, sequence: 99 })) }, 'r2')

    expect([first, mirror.activity(7)?.title]).toEqual(['Newer', 'New'])
  })
})

describe('rubbish changes nothing but an alarm', () => {
  test.each([
    ['null', Buffer.from('null')],
    ['nothing', Buffer.alloc(0)],
    ['no JSON', Buffer.from('{"id":7')],
    ['no UTF-8', Buffer.from([0xff, 0xfe, 0x22])],
    ['an array', Buffer.from('[]')],
    ['a number', Buffer.from('1e999')],
    ['another document', Buffer.from(JSON.stringify({ ...ACTIVITY, id: 8 }))],
    ['null fields', Buffer.from(JSON.stringify({ ...ACTIVITY, opensAt: null, skuIds: null, rule: null }))],
    ['missing fields', Buffer.from('{"id":7}')],
    ['absurd figures', Buffer.from(JSON.stringify({ ...ACTIVITY, opensAt: -1e300, closesAt: 1e300 }))],
    ['a title of 60 KiB', Buffer.from(JSON.stringify(titled('x'.repeat(60_000))))],
    ['deep nesting', Buffer.from('['.repeat(30_000) + ']'.repeat(30_000))],
    ['more than 64 KiB', Buffer.from(JSON.stringify({ ...ACTIVITY, pad: 'x'.repeat(DOCUMENT_BYTES_MAX) }))],
    ['__proto__', Buffer.from('{"__proto__":{"id":7},"constructor":{"prototype":{"id":7}}}')],
  ])('%s', async (_what, body) => {
    catalog.publish(activityKey(7), ACTIVITY)
    await linked()
    heard.length = 0
    const bad = command(activityKey(7), {}, { body, revision: 2 })

    const inline = mirror.offer(batch(0, [bad]), 'r1')
    const trial = mirror.offer(batch(1, [{ ...bad, sequence: 3, isTrial: true }], { upTo: 1 }), 'r1')

    expect(inline.refused.map(({ key }) => key)).toEqual(['activity:7'])
    expect(trial.refused.map(({ key }) => key)).toEqual(['activity:7'])
    expect(mirror.activity(7)).toEqual(ACTIVITY)
    expect(heard).toEqual([])
    expect(alarms).toHaveLength(2)
  })

  test('too many refusals are not all remembered', () => {
    for (let n = 1; n <= 1_500; n++) mirror.offer(batch(n - 1, [command(activityKey(n), null)]), 'r1')

    expect(mirror.refused.length).toBe(1_000)
  })
})

describe('the digest, compared each second', () => {
  const second = async () => {
    clock.advance(1_000)
    await mirror.pull()
  }

  test('a document that was missed, though its revision was passed, is found by it', async () => {
    catalog.publish(activityKey(7), ACTIVITY)
    await mirror.pull()
    catalog.docs.set(statusKey(7, 1), { revision: 1, text: JSON.stringify(status(0)) })
    await second()

    expect(mirror.status(7, 1)?.soldOut).toBe(true)
    expect(mirror.isDiffering).toBe(false)
  })

  test('a document that is no longer there is removed', async () => {
    catalog.publish(activityKey(7), ACTIVITY)
    catalog.publish(statusKey(7, 1), status(1))
    await mirror.pull()
    catalog.docs.delete(statusKey(7, 1))
    await second()

    expect(mirror.status(7, 1)).toBeUndefined()
  })

  test('a write that Redis has lost is undone', async () => {
    catalog.publish(activityKey(7), titled('Kept'))
    const lost = command(activityKey(7), titled('Lost'), { revision: 2 })
    await linked()
    mirror.offer(batch(0, [lost], { head: 2 }), 'r1')
    catalog.publish(statusKey(7, 1), status(1))
    await second()

    expect(mirror.activity(7)?.title).toBe('Kept')
  })

  test('a difference that stays is read for once, and then an alarm', async () => {
    catalog.publish(activityKey(7), ACTIVITY)
    await mirror.pull()
    const head = await catalog.head()
    catalog.head = async () => ({ ...head, digest: 'ffffffff' })
    const { reads } = catalog
    for (let n = 0; n < 30; n++) await second()

    expect(catalog.reads - reads).toBe(1)
    expect(mirror.isDiffering).toBe(true)
    expect(alarms).toEqual(['the digest differs from the published one, also after a whole reading'])
  })

  test('a refused document is no difference, and neither is a kind that is not known here', async () => {
    catalog.publish(activityKey(7), { ...ACTIVITY, opensAt: null })
    catalog.publish('challenge:7', { any: 1 })
    await mirror.pull()
    const { reads } = catalog
    for (let n = 0; n < 3; n++) await second()

    expect(catalog.reads).toBe(reads)
    expect(mirror.isDiffering).toBe(false)
    expect(mirror.digest).not.toBe((await catalog.head()).digest)
  })
})

test('whatever is lost or repeated on two links, after one more poll the mirror holds what is published', async () => {
  const step = fc.record({
    key: fc.constantFrom(activityKey(7), statusKey(7, 1)),
    isDeleted: fc.boolean(),
    lossOn: fc.constantFrom('', 'r1', 'r2', 'both'),
    isLate: fc.boolean(),
    polls: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      catalog = new Catalog()
      sequence = 0
      const one = new Mirror({ service: 'test' }, { catalog, logger: nullLogger, clock, metrics: nullMetrics })
      let late: (() => void) | undefined
      for (const [n, { key, isDeleted, lossOn, isLate, polls }] of steps.entries()) {
        const body = isDeleted ? null : key === activityKey(7) ? titled(`t${n}`) : status(n)
        const sent = batch(sequence, [{ ...published(key, body), isDeleted, body: Buffer.from(JSON.stringify(body)) }])
        if (lossOn !== 'r1' && lossOn !== 'both') one.offer(sent, 'r1')
        late?.()
        late = undefined
        if (lossOn !== 'r2' && lossOn !== 'both') {
          if (isLate) late = () => one.offer(sent, 'r2')
          else one.offer(sent, 'r2')
        }
        if (polls) await one.pull()
      }
      late?.()
      await one.pull()
      clock.advance(1_000)
      await one.pull()

      expect(one.digest).toBe((await catalog.head()).digest)
      expect(one.revision).toBe(catalog.newest)
    }),
    { seed: 11, numRuns: 400 },
  )
})
