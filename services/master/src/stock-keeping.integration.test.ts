import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ActivityRow, AuditEntry, SkuRow } from '@bigtap/db'
import { DEFAULT_POLICY, DEFAULT_WAITING, NO_CHALLENGE, NO_RESERVATION } from '@bigtap/domain'
import { nullLogger } from '@bigtap/kernel'
import { connectStore, Ledger, type Store } from '@bigtap/store'
import { type Engine, FakeClock, startRedis, waitFor } from '@bigtap/testkit'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Book } from './book.ts'
import { Alarms } from './core/alarms.ts'
import { StockKeeping } from './stock-keeping.ts'
import { openWarehouse, type WarehouseReport, type WarehouseRow } from './warehouse.ts'

/** A shop's own warehouse behind HTTP, by the protocol in warehouse-http.ts. */
class HttpWarehouse {
  readonly server: Server
  rows: WarehouseRow[] = []
  reports: WarehouseReport[] = []
  isAway = false

  constructor() {
    this.server = createServer((request, response) => {
      let text = ''
      request.on('data', (chunk) => {
        text += chunk
      })
      request.on('end', () => {
        if (this.isAway) return response.writeHead(503).end()
        if (request.method === 'PUT') for (const report of JSON.parse(text).reports) this.#take(report)
        return response.end(JSON.stringify({ stocks: this.rows }))
      })
    })
  }

  change(units: number): void {
    this.rows = this.rows.map((row) => ({ ...row, units, version: row.version + 1 }))
  }

  #take(report: WarehouseReport): void {
    this.reports.push(report)
    const { activityId, skuId, units, version } = report
    if (units === undefined) return
    if (version === 0) this.rows.push({ activityId, skuId, units, version: 1 })
    else if (this.rows[0]?.version === version) this.change(units)
  }
}

const clock = new FakeClock()
let redis: Engine
let store: Store
let ledger: Ledger
let shop: HttpWarehouse
let book: Book
let alarms: Alarms
let keeping: StockKeeping
let audit: AuditEntry[]
let activityId = 0

beforeAll(async () => {
  redis = await startRedis()
  store = connectStore({ url: redis.url, commandMsMax: 1_000 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
  ledger = new Ledger(store)
})

afterAll(async () => {
  await store?.close()
  await redis?.stop()
})

beforeEach(async () => {
  activityId++
  shop = new HttpWarehouse()
  await new Promise<void>((resolve) => shop.server.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(shop.server.address() as AddressInfo).port}/`
  const stock = { list: async () => [], report: async () => [] }
  const warehouse = openWarehouse({ warehouse: address, warehouseToken: undefined }, { stock })
  if (warehouse === undefined) throw new Error('the warehouse is off')
  const settings = { skuId: 1, stock: 10, overbook: 1, limitPerBuyer: 1, priceCents: 1, holdSeconds: 60 }
  await ledger.open(activityId, 'unlimited', [settings])
  book = new Book()
  const sale = book.put(...rowsOf(activityId), clock.now())
  sale.hasLedger = true
  alarms = new Alarms()
  audit = []
  keeping = new StockKeeping({
    ...{ warehouse, book, ledger, alarms, clock, logger: nullLogger, changed: () => undefined },
    figures: (id) => ledger.figures(id),
    audit: (entry) => void audit.push(entry),
  })
  return () => void shop.server.close()
})

function rowsOf(id: number): [ActivityRow, SkuRow[]] {
  const stored = { version: 1, createdAt: 0, updatedAt: 0, revision: 1 }
  const times = { opensAt: 1, closesAt: 2, reservation: NO_RESERVATION, accessLimits: [] }
  const sku = { title: 's', priceCents: 1, currency: 'EUR', imageUrl: '', stock: 10, limitPerBuyer: 1, paused: false }
  return [
    {
      id,
      title: 'a',
      state: 'open',
      rule: 'unlimited',
      admission: 'direct',
      waiting: DEFAULT_WAITING,
      challenge: NO_CHALLENGE,
      ...times,
      skuIds: [1],
      ...stored,
    },
    [{ id: 1, activityId: id, ...sku, policy: DEFAULT_POLICY, policyPlan: [], ...stored }],
  ]
}

const figures = async () => (await ledger.figures(activityId)).get(1)
const rounds = async (count: number) => {
  for (let done = 0; done < count; done++) {
    clock.advance(1_000)
    await keeping.round()
  }
}

test('an HTTP warehouse learns the SKU, changes its stock once for each version, and is told what was sold', async () => {
  await rounds(2)
  expect(shop.rows).toEqual([{ activityId, skuId: 1, units: 10, version: 1 }])
  shop.change(25)
  await rounds(3)
  expect(await figures()).toMatchObject({ stock: 25, free: 25 })
  expect(book.get(activityId)?.skus.get(1)?.stock).toBe(25)
  expect(audit).toMatchObject([{ action: 'stock.warehouse', before: { stock: 10 }, after: { stock: 25 } }])

  const hold = { tokenId: 'a'.repeat(32), uid: 7, skuId: 1, quantity: 1, expiresAt: Date.now() + 60_000 }
  await ledger.reserve(activityId, [hold])
  await rounds(2)
  expect(shop.reports.at(-1)).toMatchObject({ free: 24, held: 1, sold: 0 })
  await ledger.restock(activityId, 1, { requestId: 'by hand', op: 'add', units: 3 })
  await rounds(2)
  expect(shop.rows).toMatchObject([{ units: 28 }])
})

test('while the warehouse is away the stock stays and an alarm says so; then what was missed is made up for', async () => {
  await rounds(1)
  shop.isAway = true
  await expect(keeping.round()).rejects.toMatchObject({ code: 'WAREHOUSE_FAILED' })
  expect(alarms.get('warehouse')?.state).toBe('firing')
  shop.change(12)
  await ledger.restock(activityId, 1, { requestId: 'meanwhile', op: 'add', units: 5 })
  shop.isAway = false
  await rounds(3)
  expect(alarms.get('warehouse')?.state).toBe('cleared')
  expect([(await figures())?.stock, shop.rows[0]?.units]).toEqual([17, 17])
})

test('units that are held do not go: an alarm says how many are missing, until they are there', async () => {
  await rounds(2)
  const expiresAt = Date.now() + 60_000
  const held = Array.from({ length: 6 }, (_, index) => ({
    ...{ tokenId: `${index}`.repeat(32), uid: index + 1, skuId: 1, quantity: 1, expiresAt },
  }))
  await ledger.reserve(activityId, held)
  shop.change(2)
  await rounds(2)
  const alarm = alarms.get(`stock-short:${activityId}:1`)
  expect([alarm?.state, alarm?.data.units]).toEqual(['firing', 4])
  expect(await figures()).toMatchObject({ stock: 6, free: 0, held: 6 })
  await ledger.cancel(
    activityId,
    held.map(({ tokenId }) => `o${tokenId}`),
  )
  await waitFor('it is made up for', async () => {
    await rounds(1)
    return (await figures())?.stock === 2
  })
  await rounds(2)
  expect(alarms.get(`stock-short:${activityId}:1`)?.state).toBe('cleared')
  expect(shop.rows).toMatchObject([{ units: 2 }])
})
