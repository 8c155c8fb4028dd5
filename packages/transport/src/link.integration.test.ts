import { connect, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, CodedError, type Metrics, nullLogger, nullMetrics } from '@bigtap/kernel'
import { encodeFrame, encodeHello, FrameParser, KIND } from '@bigtap/protocol'
import { SeededRandom, waitFor } from '@bigtap/testkit'
import { afterEach, expect, test } from 'vitest'
import { createGreeting } from './greeting.ts'
import { linkKey } from './hello-proof.ts'
import {
  CallTable,
  createDialer,
  createServer,
  type DialerParts,
  type DialerSettings,
  type Link,
  type ServerParts,
  type ServerSettings,
} from './index.ts'

const SECRET = 'cluster secret of a test'
const clock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }
const random = new SeededRandom(7)
const base = { logger: nullLogger, metrics: nullMetrics, clock, random }
const fast = { pingMs: 40, deadMs: 160, helloMs: 200, drainMs: 500 }
const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A server that answers every ask with its own bytes. */
async function startServer(settings: Partial<ServerSettings> = {}, parts: Partial<ServerParts> = {}) {
  const identity = { nodeId: 'middle-1', role: 'middle', clusterSecret: SECRET, host: '127.0.0.1', port: 0 }
  const echo = (link: Link, _kind: number, correlation: number, body: Uint8Array) => {
    link.send(KIND.verdict, correlation, body)
  }
  const server = createServer({ ...identity, ...fast, ...settings }, { ...base, onFrame: echo, ...parts })
  const { port } = await server.start()
  closing.push(() => server.stop())
  return { server, port }
}

function startDialer(port: number, settings: Partial<DialerSettings> = {}, parts: Partial<DialerParts> = {}) {
  const identity = { nodeId: 'limiter-1', role: 'limiter', clusterSecret: SECRET, address: `127.0.0.1:${port}` }
  const timing = { ...fast, backoffBaseMs: 10, backoffMaxMs: 40 }
  const dialer = createDialer({ ...identity, ...timing, ...settings }, { ...base, onFrame: () => undefined, ...parts })
  dialer.start()
  closing.push(() => dialer.stop())
  return dialer
}

/** A calling dialer: its calls are answered by frames of the server. */
function startCaller(port: number, settings: Partial<DialerSettings> = {}) {
  const calls = new CallTable({}, { clock })
  const dialer = startDialer(port, settings, {
    onFrame: (link, kind, correlation, body) => calls.onFrame(link, kind, correlation, body),
    onClose: (link) => calls.onClose(link),
    inFlight: () => calls.inFlight,
  })
  const call = (body: Uint8Array, timeoutMs = 1_000) => calls.call(dialer, KIND.ask, body, { timeoutMs })
  return { dialer, calls, call }
}

/** A peer of raw bytes. */
async function rawPeer(port: number): Promise<{ socket: Socket; closed: Promise<void> }> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  closing.push(() => socket.destroy())
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
  return { socket, closed }
}

/** A peer that proves itself by hand, and then does what the test says. */
async function greetedPeer(port: number): Promise<{ socket: Socket; closed: Promise<void> }> {
  const peer = await rawPeer(port)
  const nonce = new Uint8Array(16)
  const greeting = createGreeting({ side: 'dialer', key: linkKey(SECRET), nodeId: 'raw', role: 'limiter', nonce })
  const parser = new FrameParser()
  await new Promise<void>((resolve) => {
    peer.socket.on('data', (chunk: Buffer) =>
      parser.push(chunk, (kind, _correlation, body) => {
        if (kind !== KIND.hello) return
        const step = greeting.receive(body)
        if (step.kind === 'answer') peer.socket.write(encodeFrame(KIND.hello, 0, step.body))
        else resolve()
      }),
    )
  })
  return peer
}

test('two nodes greet each other, and a call is answered', async () => {
  const { server, port } = await startServer()
  const { dialer, call, calls } = startCaller(port)
  expect(await dialer.ready(2_000)).toBe(true)

  const bodies = Array.from({ length: 200 }, (_, at) => Buffer.alloc(at * 97, at))
  const replies = await Promise.all(bodies.map((body) => call(body)))

  expect(replies.map((reply) => Buffer.from(reply).equals(bodies[replies.indexOf(reply)] as Buffer))).not.toContain(
    false,
  )
  expect(dialer.peer).toEqual({ nodeId: 'middle-1', role: 'middle' })
  expect(Array.from(server.links(), (link) => link.nodeId)).toEqual(['limiter-1'])
  expect(calls.inFlight).toBe(0)
})

test('the largest body passes, one byte more is refused before it is sent', async () => {
  const { port } = await startServer()
  const { dialer, call } = startCaller(port)
  await dialer.ready(2_000)

  expect(await call(new Uint8Array(1_048_576))).toHaveLength(1_048_576)
  expect(() => dialer.send(KIND.ask, 1, new Uint8Array(1_048_577))).toThrow(/exceeds/)
})

test('a node with another secret gets no link, and no frame of it is read', async () => {
  let frames = 0
  const { server, port } = await startServer({}, { onFrame: () => frames++ })
  const dialer = startDialer(port, { clusterSecret: 'another secret' })

  expect(await dialer.ready(200)).toBe(false)
  expect(dialer.send(KIND.ask, 1, new Uint8Array(1))).toBe(false)
  expect(Array.from(server.links())).toEqual([])
  expect(frames).toBe(0)
})

test.each([
  ['garbage', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')],
  ['an ask before the hello', Buffer.from(encodeFrame(KIND.ask, 1, new Uint8Array(4)))],
  ['a hello that is too long', Buffer.from(encodeFrame(KIND.hello, 0, new Uint8Array(5_000)))],
  [
    'a hello without a proof',
    Buffer.from(
      encodeFrame(
        KIND.hello,
        0,
        encodeHello({
          nodeId: 'x',
          role: 'y',
          versionMajor: 1,
          versionMinor: 0,
          nonce: new Uint8Array(16),
          proof: new Uint8Array(0),
        }),
      ),
    ),
  ],
])('%s closes that link only', async (_what, bytes) => {
  let frames = 0
  const echo = (link: Link, _kind: number, correlation: number, body: Uint8Array) => {
    frames++
    link.send(KIND.verdict, correlation, body)
  }
  const { port } = await startServer({}, { onFrame: echo })
  const { dialer, call } = startCaller(port)
  await dialer.ready(2_000)
  const { socket, closed } = await rawPeer(port)
  socket.resume()

  socket.write(bytes)
  await closed

  expect(frames).toBe(0)
  expect(await call(Buffer.from('still here'))).toHaveLength(10)
})

test('a bad frame after the hello closes that link, and is counted', async () => {
  const counts = new Map<string, number>()
  const metrics: Metrics = {
    ...nullMetrics,
    counter: (name) => ({ inc: (by = 1) => counts.set(name, (counts.get(name) ?? 0) + by) }),
  }
  const { port } = await startServer({}, { metrics })
  const { socket, closed } = await greetedPeer(port)

  socket.write(Buffer.from('this is no frame at all'))
  await closed

  expect(counts.get('bigtap_link_bad_frames_total')).toBe(1)
})

test('a body that its owner cannot decode closes that link only', async () => {
  const onFrame = () => {
    throw new CodedError({ code: 'TRUNCATED', message: 'body is cut' })
  }
  const { server, port } = await startServer({}, { onFrame })
  const { socket, closed } = await greetedPeer(port)

  socket.write(encodeFrame(KIND.ask, 1, new Uint8Array(3)))
  await closed

  expect(Array.from(server.links())).toEqual([])
})

test('a peer that says nothing gets no link for longer than the hello may take', async () => {
  const { port } = await startServer()
  const { socket, closed } = await rawPeer(port)
  socket.resume()

  await closed // or the test runs into its own time limit
})

test('a slow peer whose frame comes byte by byte is served', async () => {
  const bodies: number[] = []
  const { port } = await startServer(
    { deadMs: 2_000 },
    { onFrame: (_link, _kind, _c, body) => bodies.push(body.length) },
  )
  const { socket } = await greetedPeer(port)

  for (const byte of encodeFrame(KIND.ask, 1, new Uint8Array(9))) {
    socket.write(Uint8Array.of(byte))
    await sleep(2)
  }

  await waitFor('the frame', () => bodies.length === 1)
  expect(bodies).toEqual([9])
})

test('a peer that hangs is dead after deadMs, and its calls end with an unknown outcome', async () => {
  const acceptor = await hangingServer()
  const { dialer, call } = startCaller(acceptor.port)
  expect(await dialer.ready(2_000)).toBe(true)

  // The call itself would wait for 10 minutes: only the heartbeat can end it in the test's time.
  await expect(call(new Uint8Array(1), 600_000)).rejects.toMatchObject({ code: 'LINK_LOST' })

  expect(acceptor.pings()).toBeGreaterThan(0)
})

test('an idle link stays alive by pings, and knows the clock of the peer', async () => {
  const skewed: Clock = { now: () => Date.now() + 5_000, monotonic: () => performance.now() }
  const { port } = await startServer({}, { clock: skewed })
  let lost = 0
  const dialer = startDialer(port, {}, { onClose: () => lost++ })
  await dialer.ready(2_000)

  await sleep(500)

  expect(lost).toBe(0)
  expect(Math.abs((dialer.link?.clockOffsetMs ?? 0) - 5_000)).toBeLessThan(100)
})

test('a peer that does not read is refused more than the bound, and memory stays within it', async () => {
  const unsentBytesMax = 262_144
  const links: Link[] = []
  const { port } = await startServer({ unsentBytesMax, deadMs: 5_000 }, { onLink: (link) => links.push(link) })
  const { socket } = await greetedPeer(port)
  socket.pause()
  const link = await waitFor('the link', () => links[0])

  let sent = 0
  const body = new Uint8Array(16_384)
  for (let turn = 0; turn < 2_000 && link.send(KIND.verdict, 0, body); turn++) {
    sent++
    if (turn % 8 === 0) await sleep(0)
  }

  expect(link.send(KIND.verdict, 0, body)).toBe(false)
  expect(sent).toBeLessThan(2_000)
  expect(link.unsentBytes).toBeLessThanOrEqual(unsentBytesMax)
})

test('a peer that takes nothing for stallMs is cut off, though it sends', async () => {
  const reasons: string[] = []
  const links: Link[] = []
  const settings = { stallMs: 200, unsentBytesMax: 65_536_000, deadMs: 10_000 }
  const parts = {
    onLink: (link: Link) => links.push(link),
    onClose: (_l: Link, reason: string) => reasons.push(reason),
  }
  const { port } = await startServer(settings, parts)
  const { socket } = await greetedPeer(port)
  socket.pause()
  const link = await waitFor('the link', () => links[0])

  for (let i = 0; i < 20; i++) link.send(KIND.verdict, 0, new Uint8Array(1_000_000))

  await waitFor('the cut', () => reasons.length > 0, 3_000)
  expect(reasons).toEqual(['STALLED'])
})

test('a dialer comes back after its server was away, and says so each time', async () => {
  const first = await startServer()
  let links = 0
  const dialer = startDialer(first.port, {}, { onLink: () => links++ })
  await dialer.ready(2_000)

  await first.server.stop()
  await waitFor('the loss', () => dialer.state === 'dialing')
  expect(dialer.send(KIND.ask, 1, new Uint8Array(1))).toBe(false)
  await startServer({ port: first.port })

  expect(await dialer.ready(2_000)).toBe(true)
  expect(links).toBe(2)
})

test('a stopping server answers what is under way before it closes', async () => {
  const waiting: (() => void)[] = []
  const slow = (link: Link, _kind: number, correlation: number, body: Uint8Array) => {
    const copy = Uint8Array.from(body)
    waiting.push(() => link.send(KIND.verdict, correlation, copy))
  }
  const { server, port } = await startServer({}, { onFrame: slow, inFlight: () => waiting.length })
  const { dialer, call } = startCaller(port)
  await dialer.ready(2_000)
  const reply = call(Buffer.from('under way'))
  await waitFor('the ask', () => waiting.length === 1)

  const stopped = server.stop()
  await waitFor('goodbye', () => dialer.state === 'draining')
  await expect(call(Buffer.from('new'))).rejects.toMatchObject({ code: 'NOT_CONNECTED' })
  waiting.splice(0).forEach((answer) => {
    answer()
  })

  expect(Buffer.from(await reply).toString()).toBe('under way')
  await stopped
})

test('a stopping dialer waits for its calls', async () => {
  const delayed = (link: Link, _kind: number, correlation: number, body: Uint8Array) => {
    const copy = Uint8Array.from(body)
    setTimeout(() => link.send(KIND.verdict, correlation, copy), 60)
  }
  const { port } = await startServer({}, { onFrame: delayed })
  const { dialer, call } = startCaller(port)
  await dialer.ready(2_000)
  const reply = call(Buffer.from('last'))

  await dialer.stop()

  expect(Buffer.from(await reply).toString()).toBe('last')
  expect(dialer.state).toBe('closed')
})

test('a call that is not answered times out, and its late reply is counted, never mistaken', async () => {
  const delayed = (link: Link, _kind: number, correlation: number, body: Uint8Array) => {
    const copy = Uint8Array.from(body)
    setTimeout(() => link.send(KIND.verdict, correlation, copy), copy.length)
  }
  const { port } = await startServer({}, { onFrame: delayed })
  const { dialer, call, calls } = startCaller(port)
  await dialer.ready(2_000)

  await expect(call(new Uint8Array(150), 30)).rejects.toMatchObject({ code: 'CALL_TIMEOUT' })

  expect(await call(new Uint8Array(1))).toHaveLength(1)
  await waitFor('the late reply', () => calls.late === 1)
})

test('connections over the limit are closed at once', async () => {
  const { server, port } = await startServer({ linksMax: 1 })
  const dialer = startDialer(port)
  await dialer.ready(2_000)

  const { closed } = await rawPeer(port)
  await closed

  expect(Array.from(server.links())).toHaveLength(1)
})

test('a port in use is an error that start() gives', async () => {
  const { port } = await startServer()

  await expect(startServer({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
})

/** A server that greets, then reads and answers nothing. */
async function hangingServer(): Promise<{ port: number; pings(): number }> {
  let pings = 0
  const tcp: TcpServer = createTcpServer((socket) => {
    const nonce = new Uint8Array(16)
    const greeting = createGreeting({ side: 'acceptor', key: linkKey(SECRET), nodeId: 'hang', role: 'middle', nonce })
    const parser = new FrameParser()
    socket.on('error', () => undefined)
    socket.write(encodeFrame(KIND.hello, 0, greeting.first() ?? new Uint8Array(0)))
    socket.on('data', (chunk: Buffer) =>
      parser.push(chunk, (kind, _correlation, body) => {
        if (kind === KIND.ping) pings++
        if (kind !== KIND.hello) return
        const step = greeting.receive(body)
        if (step.kind === 'answer') socket.write(encodeFrame(KIND.hello, 0, step.body))
      }),
    )
    closing.push(() => socket.destroy())
  })
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', () => resolve()))
  closing.push(() => tcp.close())
  const address = tcp.address()
  return { port: typeof address === 'object' && address !== null ? address.port : 0, pings: () => pings }
}
