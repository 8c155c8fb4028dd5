import { nullLogger } from '@bigtap/kernel'
import { type Engine, startRedis } from '@bigtap/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { CatalogStore, type DocumentChange } from './catalog-store.ts'
import { connectStore, type Store } from './connection.ts'
import { documentHash } from './document-hash.ts'

let redis: Engine
let store: Store
let catalog: CatalogStore

beforeAll(async () => {
  redis = await startRedis()
  store = connectStore({ url: redis.url, commandMsMax: 2_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
  catalog = new CatalogStore(store)
})

beforeEach(async () => void (await store.redis.flushall()))

afterAll(async () => {
  await store.close()
  await redis.stop()
})

const doc = (key: string, n: number): DocumentChange => ({ key, body: { n } })
const hex = (digest: number): string => (digest >>> 0).toString(16).padStart(8, '0')

describe('who may publish', () => {
  test('of two leaders, the deposed one publishes nothing more, whatever it believes', async () => {
    const other = connectStore({ url: redis.url, commandMsMax: 2_000 }, { logger: nullLogger })
    await other.waitUntilReady(5_000)
    const deposed = new CatalogStore(other)
    await deposed.publish([doc('a', 1)], { epoch: 4 })
    await catalog.publish([doc('a', 2)], { epoch: 5 })
    const before = await catalog.head()

    await expect(deposed.publish([doc('a', 3), doc('b', 1)], { epoch: 4 })).rejects.toMatchObject({
      code: 'STALE_EPOCH',
    })

    expect(await catalog.head()).toEqual(before)
    expect(before).toMatchObject({ revision: 2, epoch: 5 })
    expect((await catalog.readSince(0)).map(({ body }) => body)).toEqual([{ n: 2 }])
    await other.close()
  })

  test('two leaders that publish at once: after the first of the new one, none of the old one', async () => {
    const tries = Array.from({ length: 40 }, (_, n) => {
      const epoch = n % 3 === 0 || n > 30 ? 8 : 7
      return catalog.publish([{ key: 'a', body: { n, epoch } }], { epoch }).then(
        (revision) => ({ revision, epoch }),
        () => undefined,
      )
    })
    const done = (await Promise.all(tries)).filter((one) => one !== undefined)
    const firstOfNew = Math.min(...done.filter(({ epoch }) => epoch === 8).map(({ revision }) => revision))

    expect(done.filter(({ epoch, revision }) => epoch === 7 && revision > firstOfNew)).toEqual([])
    expect((await catalog.readSince(0)).map(({ body }) => body)).toMatchObject([{ epoch: 8 }])
  })

  test('a leader may take its epoch before it has something to publish', async () => {
    await catalog.publish([doc('a', 1)], { epoch: 1 })

    expect(await catalog.publish([], { epoch: 2 })).toBe(1)
    await expect(catalog.publish([doc('a', 2)], { epoch: 1 })).rejects.toMatchObject({ code: 'STALE_EPOCH' })
  })

  test('a document over 64 KiB is not published, and nothing that was to go with it', async () => {
    const long = { key: 'b', body: { text: 'x'.repeat(65_536) } }

    await expect(catalog.publish([doc('a', 1), long])).rejects.toMatchObject({ code: 'DOCUMENT_TOO_LONG' })
    expect(await catalog.head()).toEqual({ revision: 0, digest: '', epoch: 0 })
  })
})

describe('the digest', () => {
  test('is that of the documents that lie there, whatever was published, changed and deleted before', async () => {
    const change = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd'), body: fc.option(fc.integer()) })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(change, { minLength: 1, maxLength: 3 }), { maxLength: 12 }),
        async (batches) => {
          await store.redis.flushall()
          const held = new Map<string, number>()
          for (const changes of batches) {
            await catalog.publish(changes)
            for (const { key, body } of changes) {
              if (body === null) held.delete(key)
              else held.set(key, documentHash(key, JSON.stringify(body)))
            }
          }
          const expected = hex([...held.values()].reduce((digest, hash) => digest ^ hash, 0))
          const read = await catalog.readSince(0)

          expect((await catalog.head()).digest).toBe(batches.length === 0 ? '' : expected)
          expect(hex(read.reduce((digest, { hash = 0 }) => digest ^ hash, 0))).toBe(expected)
        },
      ),
      { seed: 9, numRuns: 60 },
    )
  })

  test('a text that somebody else put there is read, and its length told, but not parsed when it is too long', async () => {
    await store.redis.hset('bt:{catalog}:docs', 'long', `1|"${'x'.repeat(70_000)}"`)
    await store.redis.zadd('bt:{catalog}:changes', 1, 'long')

    expect(await catalog.readSince(0)).toMatchObject([{ key: 'long', body: undefined, bytes: 70_002 }])
  })
})
