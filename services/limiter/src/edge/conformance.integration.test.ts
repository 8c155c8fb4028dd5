import { connect, type Socket } from 'node:net'
import { nullLogger } from '@bigtap/kernel'
import { waitFor } from '@bigtap/testkit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EDGE_FAULTS } from '../core/replies.ts'
import { jsonReply, problemReply } from '../core/reply.ts'
import { chooseEdge } from './choose.ts'
import { type Edge, type Exchange, type Held, NO_CAP } from './edge.ts'
import { loadUws } from './uws-edge.ts'

const BODY_BYTES_MAX = 1_000
const BODY_MS_MAX = 400
const kinds = loadUws() === undefined ? (['node'] as const) : (['uws', 'node'] as const)

let edge: Edge
let port: number
let errors: unknown[]
let held: Held[]
const sockets = new Set<Socket>()

const MALFORMED = {
  'a slow sender of headers': 'GET /slow HTTP/1.1\r\nHost: shop\r\n',
  'no HTTP': 'hello\r\n\r\n',
  'a bad version': 'GET / HTTP/9.9\r\nHost: shop\r\n\r\n',
  'a header without a colon': 'GET / HTTP/1.1\r\nHost: shop\r\nnonsense\r\n\r\n',
  'a bad length': 'POST /body HTTP/1.1\r\nHost: shop\r\nContent-Length: x\r\n\r\n',
  'a negative length': 'POST /body HTTP/1.1\r\nHost: shop\r\nContent-Length: -5\r\n\r\n',
  binary: Buffer.from([0, 1, 2, 255, 254, 13, 10, 13, 10]).toString('latin1'),
}

/** What the suite's application does, by path. */
function onExchange(exchange: Exchange): void {
  const { method, path } = exchange
  if (path === '/throw') throw new Error('a bug')
  if (path === '/nothing') return
  if (path === '/held') {
    held.push(exchange.hold())
    return
  }
  if (path === '/later') {
    const later = exchange.hold()
    setTimeout(() => later.reply(jsonReply(200, { later: true })), 20)
    return
  }
  if (path === '/body') {
    exchange.readBody((one, body) =>
      one.reply(jsonReply(200, { length: body.length, text: Buffer.from(body).toString() })),
    )
    return
  }
  if (path === '/unchanged') {
    exchange.reply({ ...jsonReply(200, {}), status: 304, statusLine: '304 Not Modified', body: '' })
    return
  }
  if (path === '/gone') exchange.reply(problemReply('sold_out'))
  else if (path === '/close') exchange.reply(problemReply('forbidden', {}, true))
  else exchange.reply(jsonReply(200, { method, path, a: exchange.header('x-a'), from: exchange.remoteAddress() }))
}

/** 127.0.0.7 may have little; all others what they like. */
const CAP = { connectionsMax: 4, sendersMax: 2 }
const CAPPED = '127.0.0.7'
const capOf = (address: string) => (address === CAPPED ? CAP : NO_CAP)

/** A raw connection: what was sent is seen as it came. */
async function raw(text = '', localAddress = '127.0.0.1') {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  const got = { text: '', isClosed: false }
  sockets.add(socket)
  socket.on('data', (chunk) => {
    got.text += chunk.toString('latin1')
  })
  socket.on('error', () => undefined)
  socket.on('close', () => {
    got.isClosed = true
  })
  await new Promise((resolve) => socket.once('connect', resolve))
  if (text !== '') socket.write(text)
  return { socket, got }
}
const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: shop\r\n${more}\r\n`
const count = (text: string, part: string) => text.split(part).length - 1
const fetchJson = async (path: string, init?: RequestInit) => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
  return { status: response.status, body: JSON.parse(await response.text()) }
}
/** The server is unharmed: the next buyer is answered. */
const expectAlive = async () => expect((await fetchJson('/alive')).status).toBe(200)

describe.each(kinds)('an edge (%s)', (kind) => {
  beforeEach(async () => {
    errors = []
    held = []
    edge = chooseEdge(
      kind,
      { host: '127.0.0.1', port: 0, bodyBytesMax: BODY_BYTES_MAX, bodyMsMax: BODY_MS_MAX },
      { logger: nullLogger, faults: EDGE_FAULTS, onExchange, onError: (error) => errors.push(error), capOf },
    )
    port = await edge.start()
  })
  afterEach(async () => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
    await edge.stop()
  })

  test('is the wanted one', () => expect(edge.kind).toBe(kind))

  test('answers at once and later, with method, path without query, headers and address', async () => {
    expect((await fetchJson('/x/y?z=1', { headers: { 'X-A': 'b' } })).body).toEqual({
      method: 'GET',
      path: '/x/y',
      a: 'b',
      from: '127.0.0.1',
    })
    expect((await fetchJson('/later')).body).toEqual({ later: true })
    expect(edge.held).toBe(0)
  })

  test('gives status, type and headers as the reply says', async () => {
    const { got } = await raw(get('/gone'))
    await waitFor('the reply', () => got.text.includes('sold_out'))

    expect(got.text).toMatch(/^HTTP\/1\.1 410 Gone\r\n/)
    expect(got.text).toMatch(/\r\ncontent-type: application\/problem\+json\r\n/i)
    expect(got.text).toMatch(/\r\ncache-control: no-store\r\n/i)
  })

  test.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'])('hands the method %s on', async (method) => {
    const { got } = await raw(`${method} /m HTTP/1.1\r\nHost: shop\r\n\r\n`)
    await waitFor('the reply', () => got.text.includes('}'))

    expect(got.text).toContain(`"method":"${method}"`)
  })

  test('answers HEAD with the headers alone, and goes on with the connection', async () => {
    const { socket, got } = await raw('HEAD /gone HTTP/1.1\r\nHost: shop\r\n\r\n')
    await waitFor('the headers', () => got.text.includes('\r\n\r\n'))
    expect(got.text).toMatch(/content-length: [1-9]/i)
    expect(got.text).not.toContain('sold_out')

    socket.write(get('/next'))
    await waitFor('the next reply', () => got.text.includes('"path":"/next"'))
  })

  test('answers 304 without a body, and goes on with the connection', async () => {
    const { got } = await raw(get('/unchanged') + get('/next'))
    await waitFor('the next reply', () => got.text.includes('"path":"/next"'))

    expect(got.text).toMatch(/^HTTP\/1\.1 304 Not Modified/)
  })

  test('answers pipelined requests in their order', async () => {
    const { got } = await raw(get('/1') + get('/2') + get('/3'))
    await waitFor('three replies', () => count(got.text, 'HTTP/1.1 200') === 3)

    expect([...got.text.matchAll(/"path":"\/(\d)"/g)].map((match) => match[1])).toEqual(['1', '2', '3'])
  })

  test('reads a request that comes byte by byte', async () => {
    const { socket, got } = await raw()
    for (const byte of get('/slow', 'X-A: b\r\n')) {
      socket.write(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await waitFor('the reply', () => got.text.includes('"path":"/slow"'))
    expect(got.text).toContain('"a":"b"')
  })

  test('reads bodies, also in chunks, up to the limit', async () => {
    const full = 'x'.repeat(BODY_BYTES_MAX)
    expect((await fetchJson('/body', { method: 'POST', body: full })).body.length).toBe(BODY_BYTES_MAX)

    const { got } = await raw(
      'POST /body HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n',
    )
    await waitFor('the reply', () => got.text.includes('"text":"abcde"'))
  })

  test.each([
    ['said', `Content-Length: ${BODY_BYTES_MAX + 1}\r\n\r\n`],
    ['sent in chunks', `Transfer-Encoding: chunked\r\n\r\n800\r\n${'x'.repeat(0x800)}\r\n0\r\n\r\n`],
  ])('refuses a body that is too large (%s) and closes', async (_how, rest) => {
    const { got } = await raw(`POST /body HTTP/1.1\r\nHost: shop\r\n${rest}`)
    await waitFor('the refusal', () => got.text.includes('body_too_large') && got.isClosed)

    expect(got.text).toMatch(/^HTTP\/1\.1 413 /)
    await expectAlive()
  })

  test('refuses a body that does not come in its time and closes; others are served meanwhile', async () => {
    const { got } = await raw('POST /body HTTP/1.1\r\nHost: shop\r\nContent-Length: 10\r\n\r\nabc')
    await expectAlive()
    await waitFor('the refusal', () => got.text.includes('request_timeout') && got.isClosed, 3_000)

    expect(got.text).toMatch(/^HTTP\/1\.1 408 /)
    expect(edge.held).toBe(0)
  })

  // One test, because an edge may let each of them wait for ten seconds.
  test('answers what is no request with 4xx or the end of the connection, in bounded time, and serves others', async () => {
    const started = await Promise.all(Object.values(MALFORMED).map((text) => raw(text)))
    const endless = await raw('GET /big HTTP/1.1\r\nHost: shop\r\n')
    for (let piece = 0; piece < 50 && !endless.got.isClosed; piece++) {
      endless.socket.write(`X-${piece}: ${'x'.repeat(20_000)}\r\n`)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    await expectAlive()
    const names = [...Object.keys(MALFORMED), 'headers without end']
    for (const [index, { got }] of [...started, endless].entries()) {
      const isEnded = () => got.isClosed || /^HTTP\/1\.1 (4|505)/.test(got.text)
      await waitFor(`an end of: ${names[index]}`, isEnded, 20_000)
      expect(got.text).not.toMatch(/^HTTP\/1\.1 2/)
    }
    expect(errors).toEqual([])
    await expectAlive()
  })

  test('a client that goes away while it waits, or while it sends, harms nobody', async () => {
    const waits = await raw(get('/held'))
    const sends = await raw('POST /body HTTP/1.1\r\nHost: shop\r\nContent-Length: 10\r\n\r\nabc')
    await waitFor('the request', () => held.length === 1)
    waits.socket.destroy()
    sends.socket.destroy()
    await new Promise((resolve) => setTimeout(resolve, 50))
    held[0]?.reply(jsonReply(200, {}))

    await waitFor('nothing to be held', () => edge.held === 0)
    await expectAlive()
    expect(errors).toEqual([])
  })

  test('replies to many held requests in any order', async () => {
    const asked = Array.from({ length: 50 }, () => fetchJson('/held'))
    await waitFor('the requests', () => held.length === 50)
    for (const [index, one] of held.reverse().entries()) one.reply(jsonReply(200, { index }))

    const got = await Promise.all(asked)
    expect(new Set(got.map((one) => one.body.index)).size).toBe(50)
    expect(edge.held).toBe(0)
  })

  test('a handler that throws or forgets to answer is 500, and said', async () => {
    expect((await fetchJson('/throw')).status).toBe(500)
    expect((await fetchJson('/nothing')).body.code).toBe('internal')
    expect(errors).toHaveLength(2)
    await expectAlive()
  })

  test('closes the connection when the reply says so', async () => {
    const { got } = await raw(get('/close'))
    await waitFor('the end', () => got.isClosed)

    expect(got.text).toMatch(/^HTTP\/1\.1 403 /)
  })

  test('an address holds no more than its cap, others are served meanwhile, and it is served again when it has less', async () => {
    // One at a time: an edge takes each for a sender until its request is whole.
    const opened: Awaited<ReturnType<typeof raw>>[] = []
    for (let n = 0; n < 6; n++) {
      opened.push(await raw(get('/held'), CAPPED))
      await waitFor('its fate', () => edge.held === Math.min(n + 1, CAP.connectionsMax))
    }
    await waitFor('the end of two', () => opened.filter(({ got }) => got.isClosed).length === 2)
    expect(edge.caps?.refusedConnections).toBe(2)
    await expectAlive()

    for (const one of held) one.reply(problemReply('forbidden', {}, true))
    await waitFor('the end of all', () => opened.every(({ got }) => got.isClosed))
    const { got } = await raw(get('/again'), CAPPED)
    await waitFor('the reply', () => got.text.includes('"path":"/again"'))
  })

  test('an address sends no more bodies slowly than its cap; those beyond are ended at once', async () => {
    const half = 'POST /body HTTP/1.1\r\nHost: shop\r\nContent-Length: 10\r\n\r\nabc'
    const slow: Awaited<ReturnType<typeof raw>>[] = []
    for (let n = 0; n < 4; n++) slow.push(await raw(half, CAPPED))
    await waitFor('the end of two', () => slow.filter(({ got }) => got.isClosed).length >= 2)
    expect(edge.caps?.refusedSenders).toBe(2)
    await expectAlive()
    await waitFor('the end of all', () => slow.every(({ got }) => got.isClosed), 3_000)

    const { got } = await raw('POST /body HTTP/1.1\r\nHost: shop\r\nContent-Length: 3\r\n\r\nabc', CAPPED)
    await waitFor('the reply', () => got.text.includes('"text":"abc"'))
  })

  test('a port that is taken is an error', async () => {
    const second = chooseEdge(
      kind,
      { host: '127.0.0.1', port, bodyBytesMax: 1, bodyMsMax: 1 },
      { logger: nullLogger, faults: EDGE_FAULTS, onExchange, onError: () => undefined },
    )

    await expect(second.start()).rejects.toThrow()
  })

  test('when it stops, what is held is answered and nobody new is served', async () => {
    const { got } = await raw(get('/held'))
    await waitFor('the request', () => held.length === 1)
    await edge.stop()
    held[0]?.reply(jsonReply(200, { last: true }))
    await waitFor('the last reply and the end', () => got.text.includes('last') && got.isClosed)

    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow()
  })
})

test('an edge that is wanted and not native falls back to node:http', () => {
  const made = chooseEdge(
    'auto',
    { host: '127.0.0.1', port: 0, bodyBytesMax: 1, bodyMsMax: 1 },
    { logger: nullLogger, faults: EDGE_FAULTS, onExchange, onError: () => undefined },
  )

  expect(made.kind).toBe(loadUws() === undefined ? 'node' : 'uws')
})
