import { connect, type Socket } from 'node:net'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import { connectFigures } from '@bigtap/store'
import { waitFor } from '@bigtap/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { CommandContext } from './command.ts'
import { RESP_LIMITS, RespServer } from './server.ts'

const LONG = 'x'.repeat(100_000)
const context: CommandContext = {
  keyspace: {
    type: () => 'string',
    hash: (key) => (key === 'totals' ? new Map([['free', 5]]) : undefined),
    text: () => LONG,
    keys: () => [].values(),
    scan: () => ({ next: 0, keys: [] }),
  },
  isPassword: undefined,
  info: () => ({ persistence: { loading: 0 } }),
}
const parts = { context, logger: nullLogger, metrics: nullMetrics }

let server: RespServer
let port: number
let sockets: Client[]

interface Client {
  readonly socket: Socket
  readonly isClosed: boolean
  text: string
}

async function open(to = port): Promise<Client> {
  const socket = connect(to, '127.0.0.1')
  let isClosed = false
  const client = {
    socket,
    text: '',
    get isClosed() {
      return isClosed
    },
  }
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    client.text += chunk
  })
  socket.on('error', () => undefined)
  socket.on('close', () => {
    isClosed = true
  })
  await new Promise((resolve) => socket.once('connect', resolve))
  sockets.push(client)
  return client
}

beforeEach(async () => {
  sockets = []
  server = new RespServer({ host: '127.0.0.1', port: 0, clientsMax: 4 }, parts)
  port = await server.start()
})

afterEach(async () => {
  for (const { socket } of sockets) socket.destroy()
  await server.stop()
})

test('a command is answered in whatever pieces it comes', async () => {
  const client = await open()
  const bytes = '*3\r\n$4\r\nHGET\r\n$6\r\ntotals\r\n$4\r\nfree\r\n'

  for (const byte of bytes) {
    client.socket.write(byte)
    await new Promise((resolve) => setImmediate(resolve))
  }

  await waitFor('the answer', () => client.text === '$1\r\n5\r\n')
})

test('thousands of commands in one piece are answered in order, a share in each turn', async () => {
  const client = await open()
  const count = RESP_LIMITS.commandsPerTurnMax * 5

  client.socket.write(Array.from({ length: count }, (_, index) => `PING ${index}\r\n`).join(''))
  const expected = Array.from({ length: count }, (_, index) => `$${String(index).length}\r\n${index}\r\n`).join('')

  await waitFor('all answers', () => client.text.length === expected.length)
  expect(client.text).toBe(expected)
})

test('a client that asks for more than it reads has to read first, and is not cut for it', async () => {
  const client = await open()
  const asks = 200
  client.socket.pause()
  client.socket.write('GET a\r\n'.repeat(asks))
  await new Promise((resolve) => setTimeout(resolve, 100))

  client.socket.resume()

  await waitFor('all answers', () => client.text.length === asks * (LONG.length + '$100000\r\n\r\n'.length))
  expect(client.isClosed).toBe(false)
})

test('a client that listens and does not read is cut, the others are not', async () => {
  const [deaf, other] = [await open(), await open()]
  for (const { socket } of [deaf, other]) socket.write('SUBSCRIBE tick\r\n')
  await waitFor('the subscriptions', () => deaf.text !== '' && other.text !== '')
  deaf.socket.pause()

  await waitFor('the cut', async () => {
    server.publish('tick', LONG)
    await new Promise((resolve) => setImmediate(resolve))
    return server.clients === 1
  })

  other.text = ''
  server.publish('tick', 'still here')
  await waitFor('a message', () => other.text.includes('still here'))
})

test('nonsense is answered with an error, and that connection ends', async () => {
  const client = await open()

  client.socket.write('*1\r\n:5\r\n')

  await waitFor('the end', () => client.isClosed)
  expect(client.text).toBe("-ERR Protocol error: expected '$', got ':'\r\n")
})

test('QUIT is answered before the connection ends, what comes after it is not', async () => {
  const client = await open()

  client.socket.write('PING\r\nQUIT\r\nPING\r\n')

  await waitFor('the end', () => client.isClosed)
  expect(client.text).toBe('+PONG\r\n+OK\r\n')
})

test('one client too many is told so', async () => {
  for (let client = 0; client < 4; client++) await open()

  const late = await open()

  await waitFor('the end', () => late.isClosed)
  expect(late.text).toBe('-ERR max number of clients reached\r\n')
  expect(server.clients).toBe(4)
})

test('who reads ticks gets them again after dcacenter was restarted', async () => {
  const tick = JSON.stringify({ at: 1, totals: {}, skus: [], nodes: [] })
  const reader = connectFigures({ url: `redis://127.0.0.1:${port}` }, { logger: nullLogger })
  let ticks = 0
  reader.onTick(() => ticks++)
  await waitFor('the subscription', () => server.hasListener('tick'))
  server.publish('tick', 'no tick at all')
  server.publish('tick', tick)
  await waitFor('a tick', () => ticks === 1)

  await server.stop()
  await expect(reader.totals()).rejects.toThrow()
  server = new RespServer({ host: '127.0.0.1', port }, parts)
  await server.start()

  await waitFor('the subscription', () => server.hasListener('tick'))
  server.publish('tick', tick)
  await waitFor('another tick', () => ticks === 2)
  await waitFor('the figures', async () => (await reader.totals().catch(() => undefined))?.free === 5)
  reader.close()
})
