import { connect, createServer, type Server, type Socket } from 'node:net'
import { createDb, type Db } from '@bigtap/db'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import { CatalogStore, connectStore, Ledger, Nodes, Reservations, type Store } from '@bigtap/store'
import { type Engine, SeededRandom, startPostgres, startRedis, waitFor } from '@bigtap/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createMaster } from './master.ts'

const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const PASSWORD = 'a password of the tests'

/** A wire to Redis that can be cut, or can keep what is sent back until it is let go. */
class Wire {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #kept: (() => void)[] = []
  #state: 'open' | 'cut' | 'keeping' = 'open'

  constructor(port: number) {
    this.#server = createServer((near) => {
      if (this.#state === 'cut') {
        near.destroy()
        return
      }
      const far = connect(port, '127.0.0.1')
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(from)
        from.on('error', () => to.destroy())
        from.on('close', () => to.destroy())
        from.on('data', (bytes) => {
          const pass = () => to.write(bytes)
          if (this.#state === 'keeping') this.#kept.push(pass)
          else pass()
        })
      }
    })
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const address = this.#server.address()
    return `redis://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  }

  cut(): void {
    this.#state = 'cut'
    for (const socket of this.#sockets) socket.destroy()
  }

  keep(): void {
    this.#state = 'keeping'
  }

  /** Everything that was kept arrives now. */
  open(): void {
    this.#state = 'open'
    for (const pass of this.#kept.splice(0)) pass()
  }

  stop(): void {
    this.cut()
    this.#server.close()
  }
}

interface Node {
  readonly master: ReturnType<typeof createMaster>
  readonly store: Store
  readonly wire: Wire
  readonly origin: string
  stop(): Promise<void>
}

let redis: Engine
let postgres: Engine
let db: Db
let direct: Store
let catalog: CatalogStore
let seed = 100
let running: Node[] = []

beforeAll(async () => {
  ;[redis, postgres] = await Promise.all([startRedis(), startPostgres()])
  db = createDb({ url: postgres.url, connectMs: 500 })
  direct = connectStore({ url: redis.url, commandMsMax: 1_000 }, { logger: nullLogger })
  catalog = new CatalogStore(direct)
  await direct.waitUntilReady(5_000)
}, 120_000)

beforeEach(async () => {
  running = [await startNode('master-1')]
  await leads(running[0])
  running.push(await startNode('master-2'))
  await waitFor('the standby knows the leader', () => running[1]?.master.seat.leaderAddress !== undefined)
})

afterEach(async () => {
  for (const node of running) await node.stop()
})

afterAll(async () => {
  await direct?.close()
  await db?.close()
  await Promise.all([redis?.stop(), postgres?.stop()])
})

async function startNode(nodeId: string): Promise<Node> {
  const wire = new Wire(redis.port)
  const store = connectStore({ url: await wire.start(), commandMsMax: 1_000 }, { logger: nullLogger })
  const parts = { db, store, ledger: new Ledger(store), catalog: new CatalogStore(store), nodes: new Nodes(store) }
  const master = createMaster(
    {
      ...{ nodeId, host: '127.0.0.1', address: '', port: 0, databaseUrl: postgres.url, tokenSecret: 'tokens' },
      ...{ clusterSecret: 'links', routers: [], operatorPassword: PASSWORD, operators: undefined },
      ...{ preloadMs: 60_000, confirmUnits: 100, consoleDir: undefined, adminPassword: undefined },
      ...{ warehouse: 'off', warehouseToken: undefined, alertWebhook: undefined },
    },
    {
      ...parts,
      reservations: new Reservations(store),
      clock,
      random: new SeededRandom(++seed),
      logger: nullLogger,
      metrics: nullMetrics,
    },
  )
  for (const part of master.parts) await part.start?.()
  const origin = `http://127.0.0.1:${master.server.port()}`
  let isStopped = false
  const stop = async () => {
    if (isStopped) return
    isStopped = true
    wire.open()
    for (const part of [...master.parts].reverse()) await part.stop?.()
    await store.close()
    wire.stop()
  }
  return { master, store, wire, origin, stop }
}

const leads = (node: Node | undefined) => waitFor('it leads', () => node?.master.reign())
const [first, second] = [() => running[0] as Node, () => running[1] as Node]

async function signIn(origin: string) {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'operator', password: PASSWORD })
  const answer = await fetch(`${origin}/admin/v1/login`, { method: 'POST', headers, body })
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
  const csrf = String(((await answer.json()) as { csrf?: string }).csrf)
  return async (at: string, method: string, path: string, sent?: unknown) => {
    const reply = await fetch(`${at}/admin/v1/${path}`, {
      method,
      headers: { cookie, 'x-csrf-token': csrf, ...(sent === undefined ? {} : headers) },
      ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
    })
    const text = await reply.text()
    return { status: reply.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> }
  }
}

const newActivity = () => ({
  ...{ title: 'Launch', opensAt: Date.now() + 300_000, closesAt: Date.now() + 600_000, rule: 'once-per-product' },
})

test('a standby hands everything on to the leader, and answers 503 when there is none', async () => {
  const call = await signIn(second().origin)
  const made = await call(second().origin, 'POST', 'activities', newActivity())
  expect(made.status).toBe(201)
  expect((await call(first().origin, 'GET', `activities/${made.body.id}`)).body.title).toBe('Launch')
  const stream = await fetch(`${second().origin}/admin/v1/stream`)
  expect(stream.status).toBe(401)
  expect((await fetch(`${second().origin}/`)).status).toBe(200)

  first().wire.cut()
  await waitFor('it has stopped acting', () => first().master.reign() === undefined)
  const answer = await call(first().origin, 'GET', 'activities')
  expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
})

test('the event stream comes through a standby', async () => {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'operator', password: PASSWORD })
  const login = await fetch(`${first().origin}/admin/v1/login`, { method: 'POST', headers, body })
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  const stream = await fetch(`${second().origin}/admin/v1/stream`, { headers: { cookie } })
  const reader = stream.body?.getReader()
  let text = ''
  while (!text.includes('data: ')) text += new TextDecoder().decode((await reader?.read())?.value)
  expect(stream.headers.get('content-type')).toBe('text/event-stream')
  await reader?.cancel()
})

test('a leader that is told to stop hands over, with its sessions and with those who signed out', async () => {
  const call = await signIn(first().origin)
  const gone = await signIn(first().origin)
  expect((await gone(first().origin, 'POST', 'logout')).status).toBe(204)
  const epoch = first().master.reign()?.epoch ?? 0

  await first().stop()
  await leads(second())

  expect(second().master.reign()?.epoch).toBeGreaterThan(epoch)
  expect((await call(second().origin, 'GET', 'activities')).status).toBe(200)
  expect((await gone(second().origin, 'GET', 'activities')).status).toBe(401)
})

test('a leader that is cut off from Redis stops acting before the other one begins', async () => {
  let both = 0
  const watch = setInterval(() => {
    if (running.filter(({ master }) => master.seat.epoch() > 0).length > 1) both++
  }, 5)
  first().wire.cut()

  await leads(second())
  clearInterval(watch)

  expect(both).toBe(0)
  expect(first().master.reign()).toBeUndefined()
})

test('what a leader that hung sends late is refused: by Redis and by PostgreSQL', async () => {
  const call = await signIn(first().origin)
  const { id } = (await call(first().origin, 'POST', 'activities', newActivity())).body
  await call(first().origin, 'POST', `activities/${id}/skus`, {
    ...{ title: 'Phone', priceCents: 1, currency: 'EUR', stock: 2, limitPerBuyer: 1 },
  })
  await call(first().origin, 'POST', `activities/${id}/actions/schedule`)
  const old = first().master.reign()
  const titleOf = async () => {
    const found = (await catalog.readSince(0)).find(({ key }) => key === `activity:${id}`)
    return (found?.body as { title?: string } | null | undefined)?.title
  }
  await waitFor('published', async () => (await titleOf()) === 'Launch')

  first().wire.keep()
  const sale = old?.book.get(Number(id))
  if (sale === undefined) throw new Error('the sale is not in the book')
  old?.publisher.queue([{ key: `activity:${id}`, body: { ...sale.activity, title: 'too late' } }])
  const late = old?.publisher.flush().catch((error: { code?: string }) => error.code)
  await leads(second())
  await call(second().origin, 'PATCH', `activities/${id}`, { title: 'newer' })
  await waitFor('the new leader has published', async () => (await titleOf()) === 'newer')
  const { revision, epoch } = await catalog.head()
  first().wire.open()

  // The command was already given up by its own timeout, or is refused: never done.
  expect(['STALE_EPOCH', 'STORE_FAILED', undefined]).toContain(await late)
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(await titleOf()).toBe('newer')
  expect(await catalog.head()).toMatchObject({ revision, epoch })
  await expect(old?.desk.parts.db.definitions.setSetting('x', 1)).rejects.toMatchObject({ code: 'STALE_EPOCH' })
})

test('epochs follow each other in the catalog, whoever leads', async () => {
  const epochs: number[] = []
  const watch = setInterval(() => void catalog.head().then(({ epoch }) => epochs.push(epoch)), 10)
  for (let round = 0; round < 2; round++) {
    await (running.at(-2) as Node).stop()
    await leads(running.at(-1))
    running.push(await startNode(`master-${round + 3}`))
    await waitFor('the next standby is there', () => running.at(-1)?.master.seat.leaderAddress !== undefined)
  }
  clearInterval(watch)

  expect(epochs).toEqual([...epochs].sort((a, b) => a - b))
  expect(new Set(epochs).size).toBeGreaterThanOrEqual(3)
})

test('an emptied Redis does not let the epochs begin anew', async () => {
  const epoch = first().master.reign()?.epoch ?? 0
  await direct.redis.flushall()
  await waitFor('somebody leads on', () => running.some(({ master }) => (master.reign()?.epoch ?? 0) >= epoch))
  await first().stop()
  await leads(second())
  expect(second().master.reign()?.epoch).toBeGreaterThan(epoch)
})
