/** Verdicts on the whole platform: an operator's and antiblack's, at every limiter, whatever is killed meanwhile. */

import { waitFor } from '@bigtap/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newUid, openShop, type Sale, type Shop, sleep } from './shop.ts'

interface Explanation {
  readonly verdict: { readonly by: string; readonly reason: string; readonly tier: number } | null
  readonly history: { readonly reason: string }[]
  readonly live: { readonly nodeId: string; readonly explanation: unknown }[]
}

let shop: Shop
let sale: Sale

beforeAll(async () => {
  shop = await openShop(7)
  sale = await shop.sell({ stock: 10 })
}, 180_000)

afterAll(async () => {
  await shop?.close()
})

/** What each limiter answers to a buyer's call for the path. */
async function atLimiters(session: string): Promise<number[]> {
  const path = `/v1/activities/${sale.activityId}/skus/${sale.skuId}/path`
  return Promise.all(
    shop.platform.ports.limiters.map(async (port) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${session}` } })
      await answer.body?.cancel()
      return answer.status
    }),
  )
}

/** Looks no more often than a person taps: else the looking itself would be abuse. */
const LOOK_MS = 700
const isEverywhere = (session: string, status: number) => async () => {
  const answers = await atLimiters(session).catch(() => [])
  if (answers.length > 0 && answers.every((one) => one === status)) return true
  await sleep(LOOK_MS)
  return false
}
/** Asks a limiter for what only a script looks for; one that was killed is back soon. */
const trap = (session: string) =>
  waitFor('the trap is walked into', async () => {
    const [port] = shop.platform.ports.limiters
    const headers = { authorization: `Bearer ${session}` }
    return fetch(`http://127.0.0.1:${port}/.env`, { headers }).catch(() => undefined)
  })
const block = (uid: number) =>
  shop.admin.call('POST', 'verdicts', { subject: `uid:${uid}`, tier: 5, reason: 'resells', minutes: 60 })
const explain = (uid: number) => shop.admin.call<Explanation>('GET', `verdicts/uid:${uid}`)

test('a buyer whom an operator blocks is refused by every limiter, and let in again when it is lifted', async () => {
  const uid = newUid()
  const session = await shop.signIn(uid)
  expect(new Set(await atLimiters(session))).toEqual(new Set([200]))

  await block(uid)
  await waitFor('refused everywhere', isEverywhere(session, 403))
  await shop.admin.call('DELETE', `verdicts/uid:${uid}`)
  await waitFor('let in everywhere', isEverywhere(session, 200))

  expect((await explain(uid)).history.map(({ reason }) => reason)).toEqual(['lifted', 'resells'])
})

test('who walks into a trap is blocked by antiblack, which can say why', async () => {
  const uid = newUid()
  const session = await shop.signIn(uid)

  await trap(session)

  await waitFor('refused everywhere', isEverywhere(session, 403))
  const { verdict, live } = await waitFor('the verdict', async () => {
    const found = await explain(uid)
    return found.verdict !== null && found
  })
  expect(verdict).toMatchObject({ by: 'antiblack', tier: 5 })
  expect(verdict?.reason).toContain('honeypot')
  expect(live).toMatchObject([{ nodeId: 'antiblack', explanation: { rules: expect.arrayContaining(['honeypot']) } }])
})

test('verdicts hold while antiblack, a router and a limiter are killed, and new ones are found afterwards', async () => {
  const [uid, other] = [newUid(), newUid()]
  const [session, otherSession] = [await shop.signIn(uid), await shop.signIn(other)]
  await block(uid)
  await waitFor('refused everywhere', isEverywhere(session, 403))

  for (const role of ['antiblack', 'router', 'limiter']) await shop.platform.kill(role)
  await waitFor('refused everywhere', isEverywhere(session, 403), 30_000)
  await trap(otherSession)

  await waitFor('the other one too', isEverywhere(otherSession, 403), 30_000)
  expect((await explain(uid)).verdict).toMatchObject({ by: 'operator' })
})
