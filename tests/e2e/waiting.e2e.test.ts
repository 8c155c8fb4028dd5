/** Lines, draws and waiting lists over real HTTP: places that survive, an order that holds, numbers that end with their run. */

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { waitFor } from '@bigtap/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from '../tree.ts'
import { type Answer, newUid, openShop, type Sale, type Shop, sleep } from './shop.ts'

/** Ports from 29,000 on. */
const SHOP = 6
const LONG_MS = 90_000
const RETRY_MS_MIN = 300
/** As fast as a browser reloads. */
const REFRESH_EVERY_MS = 80

let shop: Shop

beforeAll(async () => {
  shop = await openShop(SHOP)
  // These buyers are machines, and ask as such; what becomes of machines is another test's.
  await shop.admin.call('PUT', 'abuse/rules', { isShadow: true })
}, 120_000)

afterAll(() => shop.close())

interface Buyer {
  readonly uid: number
  readonly session: string
}

async function newBuyers(count: number): Promise<Buyer[]> {
  const uids = Array.from({ length: count }, newUid)
  return Promise.all(uids.map(async (uid) => ({ uid, session: await shop.signIn(uid) })))
}

const paths = new Map<string, string>()

/** One ask at the buyer's own path; a 503 is asked again. */
async function ask(sale: Sale, { uid, session }: Buyer): Promise<Answer> {
  const key = `${sale.activityId}:${uid}`
  return waitFor('an answer', async () => {
    const path = paths.get(key) ?? (await shop.path(sale, session)).body.path
    if (path === undefined) return false
    paths.set(key, path)
    const answer = await shop.call('GET', path, { session })
    if (answer.body.code === 'bad_ticket') paths.delete(key)
    return ![0, 400, 503].includes(answer.status) && answer
  })
}

async function joinInTurn(sale: Sale, buyers: readonly Buyer[]): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const buyer of buyers) answers.push(await ask(sale, buyer))
  return answers
}

/** Who is granted, in order, until so many are; each asks as often as he is told to. */
async function admit(sale: Sale, buyers: readonly Buyer[], count: number): Promise<Set<number>> {
  const granted = new Set<number>()
  let isOver = false
  const loops = buyers.map(async (buyer) => {
    while (!isOver) {
      const { status, body } = await ask(sale, buyer)
      if (status === 200) return granted.add(buyer.uid)
      await sleep(Math.max(RETRY_MS_MIN, body.retryAfterMs ?? 0))
    }
    return granted
  })
  await waitFor(`${count} buyers are admitted`, () => granted.size >= count, 40_000).finally(() => {
    isOver = true
  })
  await Promise.all(loops)
  return granted
}

test(
  'a place survives a hundred refreshes, every limiter and the death of a Middle node',
  async () => {
    const sale = await shop.sell({ stock: 2, activity: { admission: 'queue', waiting: { heartbeatSeconds: 60 } } })
    const buyers = await newBuyers(8)
    await joinInTurn(sale, buyers)
    await admit(sale, buyers.slice(0, 2), 2)
    const last = buyers[7] as Buyer
    const places = new Set<number>()

    for (let refresh = 0; refresh < 100; refresh++) {
      places.add((await ask(sale, last)).body.place)
      await sleep(REFRESH_EVERY_MS)
    }
    for (const port of shop.platform.ports.limiters)
      places.add((await askAt(`http://127.0.0.1:${port}`, sale, last)).body.place)
    shop.platform.kill('middle')
    await sleep(2_500)
    for (const [index, buyer] of buyers.slice(2).entries()) expect((await ask(sale, buyer)).body.place).toBe(index + 3)

    expect([...places]).toEqual([8])
  },
  LONG_MS,
)

test(
  'the order of admission is the order of joining, whoever asks most',
  async () => {
    const sale = await shop.sell({ stock: 5, activity: { admission: 'queue', waiting: { heartbeatSeconds: 30 } } })
    const first = await newBuyers(1)
    const rest = await newBuyers(14)
    await joinInTurn(sale, [...first, ...rest])

    const granted = await admit(sale, [...rest].reverse().concat(first), 5)

    expect([...granted].sort()).toEqual([...first, ...rest.slice(0, 4)].map(({ uid }) => uid).sort())
    const cursor = await shop.call('GET', `/v1/activities/${sale.activityId}/skus/${sale.skuId}/queue`)
    expect(cursor.headers.get('cache-control')).toBe('public, max-age=1')
    await waitFor('the public cursor', async () => {
      const { body } = await shop.call('GET', `/v1/activities/${sale.activityId}/skus/${sale.skuId}/queue`)
      return body.cursor === 5 && body.joined === 15 && body.waiting === 10
    })
  },
  LONG_MS,
)

test(
  '30 join, 10 are admitted, the next 10 vanish, and the rest are admitted in their stead',
  async () => {
    const waiting = { heartbeatSeconds: 4, callSeconds: 3 }
    const sale = await shop.sell({
      stock: 20,
      activity: { admission: 'queue', waiting },
      policy: { pacePerSecond: 0.01 },
    })
    const buyers = await newBuyers(30)
    const [first, rest] = [buyers.slice(0, 10), buyers.slice(20)]
    await joinInTurn(sale, buyers)
    const path = `activities/${sale.activityId}/skus/${sale.skuId}`
    await shop.admin.call('PATCH', path, { policy: { pacePerSecond: 20 } })

    const granted = [...(await admit(sale, [...first, ...rest], 20))]

    expect(granted.slice(0, 10).sort()).toEqual(first.map(({ uid }) => uid).sort())
    expect(granted.slice(10).sort()).toEqual(rest.map(({ uid }) => uid).sort())
    expect(await shop.figures(sale)).toMatchObject({ outstanding: 20, violations: [] })
  },
  LONG_MS,
)

test(
  'a place cannot be had by another: not with the number, not with the path, not by asking in its name',
  async () => {
    const sale = await shop.sell({ stock: 1, activity: { admission: 'queue', waiting: { heartbeatSeconds: 30 } } })
    const [winner, second, thief] = (await newBuyers(3)) as [Buyer, Buyer, Buyer]
    await joinInTurn(sale, [winner])
    await admit(sale, [winner], 1)
    const { place } = (await ask(sale, second)).body
    const stolen = (await shop.path(sale, second.session)).body.path as string

    const withPath = await shop.call('GET', stolen, { session: thief.session })
    const own = await shop.path(sale, thief.session)
    const withNumber = await shop.call('GET', `${own.body.path}?place=${place}`, { session: thief.session })

    expect(place).toBe(2)
    expect(withPath).toMatchObject({ status: 400, body: { code: 'bad_ticket' } })
    expect(withNumber.body.place === 2).toBe(false)
    expect((await ask(sale, second)).body.place).toBe(2)
    expect((await ask(sale, thief)).body.place).toBe(3)
  },
  LONG_MS,
)

test(
  'a unit that comes back goes to who waited first',
  async () => {
    const sale = await shop.sell({ stock: 1, activity: { waiting: { hasWaitingList: true, heartbeatSeconds: 30 } } })
    const [holder, first, ...others] = (await newBuyers(8)) as [Buyer, Buyer, ...Buyer[]]
    const order = await shop.order(sale, holder.session)
    await waitFor('the first stands in the line', async () => (await ask(sale, first)).body.place === 1)
    await joinInTurn(sale, others)

    await shop.call('POST', `/v1/orders/${order.body.orderId}/cancel`, { session: holder.session })
    const granted = await admit(sale, [...others, first], 1)

    expect([...granted]).toEqual([first.uid])
  },
  LONG_MS,
)

test(
  'after a reset old numbers are void',
  async () => {
    const activity = { admission: 'queue', waiting: { callSeconds: 1 } }
    const sale = await shop.sell({ stock: 3, activity, policy: { pacePerSecond: 0.01, tokenSeconds: 1 } })
    const buyers = await newBuyers(6)
    await joinInTurn(sale, buyers)
    expect((await ask(sale, buyers[5] as Buyer)).body.place).toBe(6)
    await shop.admin.login('admin', shop.platform.secrets.adminPassword)

    // The limiters open by their own clocks: the state may become `open` just while it is closed.
    const act = (action: string) =>
      shop.admin.call('POST', `activities/${sale.activityId}/actions/${action}`).then(
        () => true,
        () => false,
      )
    await waitFor('the close', () => act('close'))
    await waitFor('the reset', () => act('reset'), 60_000)
    await shop.admin.call('POST', `activities/${sale.activityId}/actions/schedule`)
    await waitFor('the sale opens again', () => shop.isOpen(sale), 20_000)
    const again = await joinInTurn(sale, [...buyers].reverse())

    expect(again.slice(1).map(({ body }) => body.place)).toEqual([2, 3, 4, 5, 6])
  },
  LONG_MS,
)

test(
  'a draw: the commit stands before, the seed after, and the verifier finds it right',
  async () => {
    const waiting = { drawSeconds: 5, heartbeatSeconds: 30 }
    const sale = await shop.sell({ stock: 2, activity: { admission: 'draw', waiting } })
    const page = `/v1/activities/${sale.activityId}/skus/${sale.skuId}/draw`
    const before = (await shop.call('GET', page)).body
    const buyers = await newBuyers(12)

    const collected = await Promise.all(buyers.map((buyer) => ask(sale, buyer)))
    const after = await waitFor('the seed', async () => {
      const { body } = await shop.call('GET', page)
      return body.seed !== undefined && body
    })
    const winners = await admit(sale, buyers, 2)

    expect(before).toMatchObject({ commit: after.commit, drawSeconds: 5 })
    expect(before.seed).toBeUndefined()
    expect(collected.every(({ status, body }) => status === 202 && body.place === undefined)).toBe(true)
    expect((await verify(sale, [])).code).toBe(0)
    for (const uid of winners) expect((await verify(sale, ['--uid', `${uid}`])).output).toMatch(/has place [12]\n/)
    const spoilt = await verify(sale, [], (lines) => [
      lines[0] ?? '',
      ...lines.slice(2, 3),
      ...lines.slice(1, 2),
      ...lines.slice(3),
    ])
    expect(spoilt).toMatchObject({ code: 1, output: expect.stringMatching(/line 2: place 2 follows place 0/) })
  },
  LONG_MS,
)

async function askAt(origin: string, sale: Sale, { session }: Buyer): Promise<Answer> {
  const headers = { authorization: `Bearer ${session}` }
  const { activityId, skuId } = sale
  return waitFor('an answer of this limiter', async () => {
    const path = await fetch(`${origin}/v1/activities/${activityId}/skus/${skuId}/path`, { headers })
    if (path.status !== 200) return false
    const answer = await fetch(`${origin}${((await path.json()) as { path: string }).path}`, { headers })
    return answer.status === 202 && { status: 202, headers: answer.headers, body: await answer.json() }
  })
}

/** The verifier over the export of a draw. */
async function verify(
  { activityId, skuId }: Sale,
  args: readonly string[],
  change: (lines: readonly string[]) => readonly string[] = (lines) => lines,
): Promise<{ code: number; output: string }> {
  const path = `activities/${activityId}/skus/${skuId}/draw`
  const text = await (await shop.admin.open(path, AbortSignal.timeout(10_000))).text()
  const folder = mkdtempSync(join(tmpdir(), 'bigtap-draw-'))
  const file = join(folder, 'draw.ndjson')
  writeFileSync(file, change(text.split('\n')).join('\n'))
  try {
    const script = join(root, 'scripts/verify-draw.mjs')
    const { stdout } = await promisify(execFile)(process.execPath, [script, file, ...args], { cwd: root })
    return { code: 0, output: stdout }
  } catch (error) {
    const { code, stderr } = error as { code: number; stderr: string }
    return { code, output: stderr }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
