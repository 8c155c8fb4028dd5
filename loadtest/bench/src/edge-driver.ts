/** The load of bench `edge`, a process: keep-alive connections, one request at a time on each, many distinct buyers. */

import { connect, type Socket } from 'node:net'
import { createKeyRing, issueSession, issueTicket } from '@bigtap/token'

/** Which requests to make. */
export interface DriverSetup {
  readonly secret: string
  readonly buyers: number
  readonly activityId: number
  readonly skuId: number
  readonly opensAt: number
}

/** One round of load. `mostly` is the status line that answers should have; others are counted. */
export interface DriverRound {
  readonly port: number
  readonly connections: number
  readonly ms: number
  readonly status: number
}

/** What a round brought. */
export interface DriverResult {
  readonly answers: number
  readonly others: number
  readonly ms: number
}

const HOUR_MS = 3_600_000
let requests: Buffer[] = []
let next = 0

process.on('disconnect', () => process.exit(0))
process.on('message', (message: DriverSetup | DriverRound) => {
  if ('secret' in message) {
    requests = makeRequests(message)
    process.send?.(requests.length)
  } else void run(message).then((result) => process.send?.(result))
})

function makeRequests({ secret, buyers, activityId, skuId, opensAt }: DriverSetup): Buffer[] {
  const ring = createKeyRing({ current: secret })
  const now = Date.now()
  return Array.from({ length: buyers }, (_, index) => {
    const uid = index + 1
    const session = issueSession(ring, { uid, expiresAt: now + HOUR_MS })
    const ticket = issueTicket(ring, { uid, activityId, skuId, notBefore: opensAt, expiresAt: now + HOUR_MS })
    return Buffer.from(`GET /v1/buy/${ticket} HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer ${session}\r\n\r\n`)
  })
}

async function run({ port, connections, ms, status }: DriverRound): Promise<DriverResult> {
  const state = { answers: 0, others: 0, isOver: false }
  const wanted = `HTTP/1.1 ${status}`
  const startedAt = performance.now()
  const sockets = await Promise.all(Array.from({ length: connections }, (_, index) => open(port, index)))
  for (const socket of sockets) drive(socket, wanted, state)
  await new Promise((resolve) => setTimeout(resolve, ms))
  state.isOver = true
  const result = { answers: state.answers, others: state.others, ms: performance.now() - startedAt }
  for (const socket of sockets) socket.destroy()
  return result
}

/** Each connection from an address of its own: thousands of asks a second from one address are graded, and fall first. */
function open(port: number, index: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const localAddress = `127.1.${index >> 7}.${(index & 127) + 1}`
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

function drive(socket: Socket, wanted: string, state: { answers: number; others: number; isOver: boolean }): void {
  let text = ''
  const ask = () => {
    const request = requests[next++ % requests.length]
    if (request !== undefined && !state.isOver) socket.write(request)
  }
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    if (!isWhole(text)) return
    if (text.startsWith(wanted)) state.answers++
    else state.others++
    text = ''
    ask()
  })
  socket.on('error', () => undefined) // the round is over, or its answers are missing in the result
  ask()
}

/** Is this one whole response? There is at most one: nothing is asked before it has come. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return false
  const at = text.indexOf('ontent-') < 0 ? -1 : text.search(/content-length: /i)
  const length = at < 0 ? 0 : Number.parseInt(text.slice(at + 16, at + 24), 10)
  return text.length >= end + 4 + length
}
