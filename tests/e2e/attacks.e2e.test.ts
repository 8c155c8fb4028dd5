/** Attacks over HTTP on the running platform: each is refused with the right code, and a normal buyer is served after it. */

import { connect, type Socket } from 'node:net'
import { findChromium } from '@bigtap/engines'
import { waitFor } from '@bigtap/testkit'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { AdminClient } from '../../deploy/local/src/admin.ts'
import { createKeyRing, issueTicket, type KeyRing } from '../../packages/token/src/index.ts'
import { type Answer, newUid, openShop, type Sale, type Shop, sleep } from './shop.ts'
import { type AskedChallenge, solve } from './solver.ts'

/** Attackers come from an address of their own. */
const ATTACKER = '127.0.0.66'
/** What a flood opens at a time. */
const SOCKETS = 100

const executablePath = chromiumPath()
let shop: Shop
let ring: KeyRing
/** A sale that everybody may buy in, and one that asks challenges. */
let sale: Sale
let guarded: Sale
let opensAt: number

beforeAll(async () => {
  shop = await openShop(4)
  ring = createKeyRing({ current: shop.platform.secrets.token })
  const made = [shop.sell({ stock: 1_000 }), shop.sell({ stock: 1_000 })]
  ;[sale, guarded] = (await Promise.all(made)) as [Sale, Sale]
  opensAt = (await shop.call('GET', `/v1/activities/${sale.activityId}`)).body.opensAt
  await shop.admin.call('PATCH', `activities/${guarded.activityId}`, { challenge: { mode: 'all', tries: 100 } })
  await waitFor('challenges at every limiter', async () => {
    const session = await shop.signIn()
    const seen = await Promise.all(Array.from({ length: 6 }, () => shop.path(guarded, session)))
    return seen.every(({ status }) => status === 428)
  })
}, 120_000)

afterAll(async () => {
  await shop?.close()
})

afterEach(async () => {
  const normal = await shop.buy(sale, await shop.signIn())
  expect([normal.status, normal.body.state]).toEqual([200, 'granted'])
  expect((await shop.invariants()).skus.flatMap(({ violations }) => violations)).toEqual([])
})

const seen = ({ status, body }: Answer) => [status, body.code ?? body.state]
const buy = (session: string, path: string) => shop.call('GET', path, { session })
const pathOf = async (where: Sale, session: string): Promise<string> => (await shop.path(where, session)).body.path

/** What a buyer of whom nothing is known yet is told: who forges often is blocked before the ticket is looked at. */
async function tried(make: (uid: number) => string): Promise<unknown[]> {
  const uid = newUid()
  return seen(await buy(await shop.signIn(uid), make(uid)))
}

/** A ticket as only the platform can sign it. */
function forge(uid: number, more: Partial<Parameters<typeof issueTicket>[1]> = {}, keys = ring): string {
  const { activityId, skuId } = sale
  const claims = { uid, activityId, skuId, notBefore: opensAt, expiresAt: Date.now() + 60_000, ...more }
  return `/v1/buy/${issueTicket(keys, claims)}`
}

describe('the hidden path', () => {
  test('a ticket that is replayed brings the same token, then nothing: never a second grant', async () => {
    const session = await shop.signIn()
    const path = await pathOf(sale, session)
    const granted = await shop.buy(sale, session)
    const before = (await shop.figures(sale)).stock

    const again = await Promise.all(Array.from({ length: 5 }, () => buy(session, path)))
    const tokens = again.filter(({ status }) => status === 200).map(({ body }) => body.token)
    expect(new Set(tokens)).toEqual(new Set([granted.body.token]))
    expect(again.every(({ status }) => [200, 429].includes(status))).toBe(true)

    expect((await shop.cart(session, granted.body.token)).status).toBe(201)
    // At a buyer's pace: who hammers is blocked.
    await waitFor('already bought', async () => {
      await sleep(700)
      return (await buy(session, path)).body.code === 'already_bought'
    })
    expect((await shop.figures(sale)).stock).toBe(before)
  })

  test('no ticket, and what is none, is refused', async () => {
    const { activityId, skuId } = sale
    const none = ['', 'x', `${activityId}.${skuId}`, `${activityId}.${skuId}.`, '%00', 'a'.repeat(2_000)]

    for (const ticket of none)
      expect([ticket, ...seen(await buy(await shop.signIn(), `/v1/buy/${ticket}`))]).toEqual([
        ticket,
        400,
        'bad_ticket',
      ])
  })

  test('before the opening nobody has a path, and one that was signed by an insider is no use', async () => {
    const later = await shop.sell({ stock: 5, opensInMs: 120_000 })
    const uid = newUid()
    const session = await shop.signIn(uid)
    const path = forge(uid, { activityId: later.activityId, skuId: later.skuId, notBefore: 1 })
    await waitFor('the sale to be known', async () => (await shop.path(later, session)).status !== 404)

    expect(seen(await shop.path(later, session))).toEqual([425, 'not_started'])
    expect(seen(await buy(session, path))).toEqual([425, 'not_started'])
  })

  test('another buyer’s ticket is refused, and stays good for whose it is', async () => {
    const [mine, theirs] = [await shop.signIn(), await shop.signIn()]
    const path = await pathOf(sale, mine)

    expect(seen(await buy(theirs, path))).toEqual([400, 'bad_ticket'])
    expect(seen(await shop.call('GET', path))).toEqual([401, 'no_session'])
    expect((await buy(mine, path)).status).toBe(200)
  })

  test('an expired ticket, one for a whole day, and one of another secret are refused', async () => {
    const stranger = createKeyRing({ current: 'a secret of somebody else' })
    const now = Date.now()
    const makers = [
      (uid: number) => forge(uid, { expiresAt: now - 1 }),
      (uid: number) => forge(uid, { expiresAt: now - 3_600_000 }),
      (uid: number) => forge(uid, { expiresAt: now + 86_400_000 }),
      (uid: number) => forge(uid, {}, stranger),
    ]

    for (const make of makers) expect(await tried(make)).toEqual([400, 'bad_ticket'])
    expect(await tried((uid) => forge(uid))).toEqual([200, 'granted'])
  })

  test('a ticket that was changed anywhere is refused', async () => {
    const start = '/v1/buy/'.length
    const changes = Array.from({ length: 20 }, (_, index) => (path: string) => {
      const at = start + index * 5
      return `${path.slice(0, at)}${path[at] === 'A' ? 'B' : 'A'}${path.slice(at + 1)}`
    })
    changes.push((path) => path.replace(`.${sale.skuId}.`, `.${guarded.skuId}.`))
    changes.push((path) => path.replace(/buy\/\d+\./, `buy/${guarded.activityId}.`))

    for (const change of changes) expect(await tried((uid) => change(forge(uid)))).toEqual([400, 'bad_ticket'])
  })

  test('after a reset the tickets of the run before are void', async () => {
    const run = await shop.sell({ stock: 3 })
    const session = await shop.signIn()
    const old = await pathOf(run, session)
    const { ports, secrets } = shop.platform
    const chief = new AdminClient(ports.masters.map((port) => `http://127.0.0.1:${port}`))
    await chief.login('admin', secrets.adminPassword)
    await shop.admin.call('POST', `activities/${run.activityId}/actions/close`)
    await waitFor('the reset', () =>
      chief.call('POST', `activities/${run.activityId}/actions/reset`).then(
        () => true,
        () => false,
      ),
    )
    await shop.admin.call('PATCH', `activities/${run.activityId}`, { opensAt: Date.now() + 1_500 })
    await shop.admin.call('POST', `activities/${run.activityId}/actions/schedule`)
    await waitFor('the second run', () => shop.isOpen(run), 15_000)

    expect(seen(await buy(session, old))).toEqual([400, 'bad_ticket'])
    expect((await shop.buy(run, session)).status).toBe(200)
  })
})

describe('challenges', () => {
  const answer = (session: string, header: string) =>
    shop.call('GET', `/v1/activities/${guarded.activityId}/skus/${guarded.skuId}/path`, {
      session,
      headers: { 'x-challenge': header },
    })
  const asked = async (session: string): Promise<AskedChallenge> => (await shop.path(guarded, session)).body.challenge
  const required = [428, 'challenge_required']

  test('who solves it has the path, and a pass at every limiter', async () => {
    const session = await shop.signIn()
    const solved = await answer(session, solve(await asked(session)))
    expect(solved.status).toBe(200)
    const { pass, path } = solved.body

    const url = `/v1/activities/${guarded.activityId}/skus/${guarded.skuId}/path`
    for (let round = 0; round < 6; round++)
      expect((await shop.call('GET', url, { session, headers: { 'x-challenge-pass': pass } })).status).toBe(200)
    expect((await buy(session, path)).status).toBe(200)
    const thief = await shop.signIn()
    expect(seen(await shop.call('GET', url, { session: thief, headers: { 'x-challenge-pass': pass } }))).toEqual(
      required,
    )
  })

  test('a solution is taken once, whichever limiter is asked', async () => {
    const session = await shop.signIn()
    const header = solve(await asked(session))
    const answers = await Promise.all(Array.from({ length: 8 }, () => answer(session, header)))

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 428)).toHaveLength(7)
  })

  test('another buyer’s solution, and one of another activity, is refused', async () => {
    const [mine, theirs] = [await shop.signIn(), await shop.signIn()]
    const header = solve(await asked(theirs))

    expect(seen(await answer(mine, header))).toEqual(required)
    expect((await answer(theirs, header)).status).toBe(200)
  })

  test('spliced, unsigned and made-up challenges are refused', async () => {
    type Splice = (own: AskedChallenge, other: AskedChallenge) => unknown
    const splices: Splice[] = [
      (own, other) => ({ parameters: other.parameters, signature: own.signature }),
      (own, other) => ({ parameters: { ...other.parameters, data: own.parameters.data }, signature: other.signature }),
      (own) => ({ parameters: { ...own.parameters, keyPrefix: '0'.repeat(32) }, signature: own.signature }),
      (own) => ({ parameters: own.parameters, signature: '0'.repeat(64) }),
      (own) => ({ parameters: own.parameters }),
    ]
    const other = await asked(await shop.signIn())

    for (const splice of splices) {
      const session = await shop.signIn()
      const challenge = splice(await asked(session), other) as AskedChallenge
      expect(seen(await answer(session, solve(challenge)))).toEqual(required)
    }
    for (const header of ['x', 'e30=', 'wait.', `wait.${'A'.repeat(124)}`, 'A'.repeat(3_000)])
      expect(seen(await answer(await shop.signIn(), header))).toEqual(required)
  })

  test('a wait that is not over, or is another’s, is no pass', async () => {
    const [mine, theirs] = [await shop.signIn(), await shop.signIn()]
    const { voucher } = (await answer(mine, 'wait')).body

    expect(seen(await answer(mine, voucher))).toEqual(required)
    expect((await answer(mine, voucher)).body.retryAfterMs).toBeGreaterThan(10_000)
    expect((await answer(theirs, voucher)).body.challenge).toBeDefined()
  })

  describe.skipIf(executablePath === undefined)('in a browser (skipped where there is none)', () => {
    const faults: string[] = []
    let browser: Browser

    beforeAll(async () => {
      browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox', '--disable-gpu'] })
    })
    afterAll(() => browser?.close())

    /** A signed-in buyer before the opening of a sale that asks challenges. */
    async function visit(challenge: Record<string, unknown>): Promise<Page> {
      const terms = { mode: 'all', ...challenge }
      const { activityId } = await shop.sell({ stock: 5, opensInMs: 9_000, activity: { challenge: terms } })
      const page = await browser.newPage()
      page.on('pageerror', (error) => faults.push(error.message))
      await page.goto(`${shop.origin}/?activity=${activityId}`)
      await page.waitForFunction(() => document.querySelector('#clock')?.textContent?.startsWith('Opens in'))
      await page.fill('#uid', `${newUid()}`)
      await page.click('#sign-in button')
      return page
    }
    async function buysThere(page: Page): Promise<void> {
      await page.click('.product button:not([disabled])', { timeout: 20_000 })
      await page.waitForFunction(() => document.querySelector('#message')?.textContent?.startsWith('It is yours'))
      expect(faults).toEqual([])
    }

    test('a page solves it by itself before the opening', async () => {
      const page = await visit({ tries: 100 })

      await page.waitForSelector('text=The check is done.', { timeout: 8_000 })
      await buysThere(page)
    })

    test('who cannot compute presses one button, waits, and buys', async () => {
      const page = await visit({ tries: 10_000_000, waitSeconds: 5 })

      await page.click('text=I cannot compute this, let me wait', { timeout: 8_000 })
      await page.waitForSelector('text=You wait instead of computing')
      await page.waitForSelector('text=The check is done.', { timeout: 20_000 })
      await buysThere(page)
    })
  })
})

describe('places in a queue', () => {
  test('a place is its buyer’s: it cannot be stolen, made up or sold on', async ({ skip }) => {
    const policy = { pacePerSecond: 0.2, tokenSeconds: 60 }
    const line = await shop.sell({ stock: 50, policy, activity: { admission: 'queue' } })
    const join = async () => {
      const session = await shop.signIn()
      const path = await pathOf(line, session)
      return { session, path, answer: await buy(session, path) }
    }
    const joined: Awaited<ReturnType<typeof join>>[] = []
    for (let count = 0; count < 8; count++) joined.push(await join())
    const waiting = joined.filter(({ answer }) => answer.body.state === 'queued')
    const [first, second] = waiting
    if (first?.answer.body.place === undefined || second === undefined) return skip('queues tell no place yet')
    const placeOf = async (session: string, path: string) => (await buy(session, path)).body.place

    // Stolen, or sold on: the ticket of one in front.
    expect(seen(await buy(second.session, first.path))).toEqual([400, 'bad_ticket'])
    // Made up: nothing that a buyer sends names a place.
    const forged = await shop.call('GET', `${second.path}?place=1`, {
      session: second.session,
      headers: { 'x-place': '1', 'x-queue-place': '1' },
    })
    expect(forged.body.place).toBe(second.answer.body.place)
    expect(await placeOf(second.session, await pathOf(line, second.session))).toBe(second.answer.body.place)
    // Who bought a place stands where everybody joins.
    const late = await join()
    const places = waiting.map(({ answer }) => answer.body.place)
    expect(late.answer.body.place).toBeGreaterThan(Math.max(...places))
    expect(places).toEqual([...places].sort((a, b) => a - b))
  })
})

describe('the wire', () => {
  const ports = () => [shop.platform.ports.origin, ...shop.platform.ports.limiters]
  const head = 'GET /v1/time HTTP/1.1\r\nHost: shop\r\n'
  const refused = /^$|^HTTP\/1\.1 (4\d\d|50[15])/

  /** What comes back for raw bytes until the other side closes, or `msMax`. */
  function send(port: number, bytes: string | Buffer, msMax = 3_000): Promise<string> {
    return new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: ATTACKER })
      let text = ''
      const end = () => {
        clearTimeout(late)
        socket.destroy()
        resolve(text)
      }
      const late = setTimeout(end, msMax)
      socket.on('connect', () => socket.write(bytes))
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1')
      })
      socket.on('error', end)
      socket.on('close', end)
    })
  }

  test('header floods end the connection, or are answered with 431', async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => `x-h-${index}: ${'a'.repeat(40)}\r\n`).join('')
    const long = `x-long: ${'a'.repeat(600_000)}\r\n`

    for (const port of ports())
      for (const flood of [many, long]) expect(await send(port, `${head}${flood}\r\n`)).toMatch(refused)
  })

  test('bodies that are too large are refused, whether they say so or not', async () => {
    const post = (headers: string) => `POST /v1/session HTTP/1.1\r\nHost: shop\r\n${headers}\r\n\r\n`
    const chunk = `4000\r\n${'a'.repeat(0x4000)}\r\n`
    const said = `${post(`Content-Length: ${1 << 24}`)}${'a'.repeat(100_000)}`
    const chunked = `${post('Transfer-Encoding: chunked')}${chunk.repeat(20)}`

    for (const port of ports()) {
      expect(await send(port, said, 1_000)).toMatch(/^$|^HTTP\/1\.1 413/)
      expect(await send(port, chunked, 1_000)).toMatch(/^$|^HTTP\/1\.1 4(13|00|11)/)
    }
  })

  test('garbage in the pipe ends the connection, and nothing of it is taken for a request', async () => {
    const garbage = [
      '\0\0\0\0\r\n\r\n',
      'GET\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'POST /v1/session HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n',
      'POST /v1/session HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde',
      'POST /v1/session HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n',
      'GET /v1/time HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n',
    ]

    for (const port of shop.platform.ports.limiters)
      for (const bytes of garbage) {
        const text = await send(port, `${head}\r\n${bytes}`, 400)
        expect(text).toMatch(/^$|^HTTP\/1\.1 (200|400)/)
        expect(text.match(/HTTP\/1\.1 [235]\d\d/g)?.length ?? 0).toBeLessThanOrEqual(1)
        expect(text).not.toContain('HTTP/1.1 404')
      }
  })

  test('while slow senders hold their connections everybody else is served, and they are cut off', async () => {
    const sockets: Socket[] = []
    const [port = 0] = shop.platform.ports.limiters
    for (let count = 0; count < SOCKETS; count++) {
      const socket = connect({ port, host: '127.0.0.1', localAddress: ATTACKER })
      socket.on('error', () => socket.destroy())
      socket.write(count % 2 === 0 ? head : 'POST /v1/session HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n{')
      socket.resume()
      sockets.push(socket)
    }
    const drip = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write('x')
    }, 400)
    try {
      for (let round = 0; round < 5; round++) expect((await shop.buy(sale, await shop.signIn())).status).toBe(200)
      await waitFor('the slow ones to be cut off', () => sockets.every(({ closed }) => closed), 25_000)
    } finally {
      clearInterval(drip)
      for (const socket of sockets) socket.destroy()
    }
  })

  test('another X-Forwarded-For with each request changes no limit', async () => {
    const limit = { scope: 'ip', algorithm: 'fixed-window', seconds: 60, maxCount: 3 }
    const limited = await shop.sell({ stock: 100, activity: { accessLimits: [limit] } })
    const session = await shop.signIn()
    const path = await pathOf(limited, session)
    const ask = (port: number, address: string) =>
      send(
        port,
        `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${session}\r\nX-Forwarded-For: ${address}\r\n\r\n`,
      )

    for (const port of ports()) {
      const answers: string[] = []
      for (let count = 0; count < 16; count++) answers.push(await ask(port, `9.9.9.${count}, 10.0.${count}.1`))
      // The origin spreads over all limiters, each with a count of its own.
      expect(answers.slice(-4).every((text) => text.startsWith('HTTP/1.1 429'))).toBe(true)
    }
  })
})

function chromiumPath(): string | undefined {
  try {
    return findChromium()
  } catch {
    return undefined // the test says that it is skipped
  }
}
