import { Documents } from '@bigtap/catalog'
import { activityKey, DEFAULT_POLICY, DEFAULT_WAITING, skuKey, statusKey } from '@bigtap/domain'
import { expect, test } from 'vitest'
import { ActivityPages } from './activity-pages.ts'

const OPENS_AT = 1_800_000_000_000
const SEED = 'ab'.repeat(32)
const COMMIT = 'cd'.repeat(32)

function pagesOf(admission: string, waiting = {}, state = 'open'): ActivityPages {
  const documents = new Documents()
  const times = { opensAt: OPENS_AT, closesAt: OPENS_AT + 600_000 }
  const terms = { ...DEFAULT_WAITING, ...waiting, drawSeed: SEED, drawCommit: COMMIT }
  const money = { priceCents: 1, currency: 'EUR', imageUrl: '', stock: 5, limitPerBuyer: 1 }
  const line = { cursor: 120, joined: 900, waiting: 700, perSecond: 40 }
  const bodies: [string, unknown][] = [
    [activityKey(1), { id: 1, title: 'a', state, ...times, rule: 'unlimited', skuIds: [2], admission, waiting: terms }],
    [skuKey(1, 2), { id: 2, activityId: 1, title: 's', ...money, policy: DEFAULT_POLICY, paused: false }],
    [
      statusKey(1, 2),
      { activityId: 1, skuId: 2, soldOut: false, exhausted: false, free: 5, held: 0, sold: 0, at: 1, line },
    ],
  ]
  for (const [key, body] of bodies) expect(documents.apply({ key, revision: 1, body })).toBe('applied')
  return new ActivityPages(documents, () => 0)
}

const bodyOf = (reply: { body: string } | undefined) => JSON.parse(reply?.body ?? 'null')

test('everybody can see how far the line is, and what a hundred places take', () => {
  const page = bodyOf(pagesOf('queue').queue(1, 2, OPENS_AT + 1))

  expect(page).toMatchObject({ cursor: 120, joined: 900, waiting: 700, perSecond: 40, etaMsPer100: 2_500 })
})

test('a sale without a line has no such page, and neither has a product that is not there', () => {
  expect(pagesOf('direct').queue(1, 2, OPENS_AT)).toBeUndefined()
  expect(pagesOf('direct', { hasWaitingList: true }).queue(1, 2, OPENS_AT)).toBeDefined()
  expect(pagesOf('queue').queue(1, 3, OPENS_AT)).toBeUndefined()
  expect(pagesOf('queue').draw(1, 2, OPENS_AT)).toBeUndefined()
})

test('the seed of a draw is on no page before the draw is over, and on its page afterwards', () => {
  const during = [OPENS_AT - 5_000, OPENS_AT, OPENS_AT + 9_999, OPENS_AT + 11_999]
  for (const now of during) {
    const pages = pagesOf('draw')
    const shown = [pages.list('', now), pages.one(1, '', now), pages.queue(1, 2, now), pages.draw(1, 2, now)]
    expect(shown.map((reply) => reply?.body).join()).not.toContain(SEED)
    expect(bodyOf(pages.draw(1, 2, now))).toMatchObject({ commit: COMMIT, drawSeconds: 10, joined: 900 })
  }

  expect(bodyOf(pagesOf('draw').draw(1, 2, OPENS_AT + 12_000))).toMatchObject({ commit: COMMIT, seed: SEED })
  expect(pagesOf('draw', {}, 'scheduled').draw(1, 2, OPENS_AT + 12_000)?.body).not.toContain(SEED)
})
