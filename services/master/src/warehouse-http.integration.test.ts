import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openWarehouse, type Warehouse } from './warehouse.ts'
import { WAREHOUSE_LIMITS } from './warehouse-http.ts'

const row = { activityId: 7, skuId: 3, units: 10, version: 2 }
let server: Server
let warehouse: Warehouse
let answer: (request: IncomingMessage, response: ServerResponse, body: string) => void

beforeEach(async () => {
  server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => (text += chunk))
    request.on('end', () => answer(request, response, text))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  warehouse = opened(`http://127.0.0.1:${(server.address() as AddressInfo).port}/stock?shop=1`)
})

afterEach(() => {
  server.closeAllConnections()
  server.close()
})

function opened(address: string): Warehouse {
  const stock = { list: async () => [], report: async () => [] }
  const found = openWarehouse({ warehouse: address, warehouseToken: 'a secret token' }, { stock })
  if (found === undefined) throw new Error('the warehouse is off')
  return found
}

test('stock is read and reported with the token', async () => {
  const seen: unknown[] = []
  answer = (request, response, body) => {
    seen.push([request.method, request.url, request.headers.authorization, body])
    response.end(JSON.stringify({ stocks: [{ ...row, shelf: 'B' }] }))
  }
  const report = { activityId: 7, skuId: 3, version: 2, units: 12, free: 1, held: 2, sold: 3 }
  expect(await warehouse.list([7, 8])).toEqual([row])
  expect(await warehouse.report([report])).toEqual([row])
  expect(await warehouse.report([])).toEqual([])
  expect(seen).toEqual([
    ['GET', '/stock?shop=1&activityIds=7%2C8', 'Bearer a secret token', ''],
    ['PUT', '/stock?shop=1', 'Bearer a secret token', JSON.stringify({ reports: [report] })],
  ])
})

test.each<[string, (response: ServerResponse) => void]>([
  ['an error', (response) => response.writeHead(500).end()],
  ['no JSON', (response) => response.end('<html>')],
  ['no list', (response) => response.end('{}')],
  ['a redirect', (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
  ['a negative stock', (response) => response.end(JSON.stringify({ stocks: [{ ...row, units: -1 }] }))],
  ['a stock without a version', (response) => response.end(JSON.stringify({ stocks: [{ ...row, version: null }] }))],
  ['an endless body', (response) => response.end(Buffer.alloc(WAREHOUSE_LIMITS.bytesMax + 1, 32))],
  ['silence', () => undefined],
])('%s is a fault that does not hold the token', async (_name, send) => {
  answer = (_request, response) => send(response)
  const fault: unknown = await warehouse.list([7]).catch((error: unknown) => error)
  expect(fault).toMatchObject({ code: 'WAREHOUSE_FAILED' })
  expect(String(fault)).not.toContain('secret')
})

test('the setting chooses the warehouse, and a bad one is refused', () => {
  const stock = { list: async () => [], report: async () => [] }
  const open = (address: string) => openWarehouse({ warehouse: address, warehouseToken: undefined }, { stock })
  expect(open('off')).toBeUndefined()
  expect(open('postgres')).toMatchObject({ name: 'postgres', pollMs: 250 })
  for (const bad of ['', 'mysql', 'ftp://x/', 'http://user:pass@x/'])
    expect(() => open(bad)).toThrow('BIGTAP_WAREHOUSE')
})
