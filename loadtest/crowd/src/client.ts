/** The crowd's HTTP client: keep-alive connections, a deadline on every call. */

import { Pool } from 'undici'
import { Connections, type Speaker } from './connections.ts'
import type { Device } from './devices.ts'

/** An answer; `body` is the parsed JSON, or undefined where it was none. Status 0: no answer came. */
export interface Answer {
  readonly status: number
  readonly body: Record<string, unknown> | undefined
  readonly latencyMs: number
}

/** Limits of the client. */
export interface ClientSettings {
  readonly origin: string
  /** The limiters, which are reached directly, in turn, as a load balancer spreads connections over them. */
  readonly limiters: readonly string[]
  readonly connectionsMax: number
  /** Connections kept for the cart, and as many for payment and orders: no buyer stands behind those who refresh. */
  readonly moneyConnectionsMax: number
  readonly answerMsMax: number
}

/** From where a call comes, and with which device. */
export interface From extends Speaker {
  readonly device: Device
}

/** One call; only calls to the limiters come `from` an address. */
export interface Call {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly session?: string | undefined
  readonly body?: unknown
  readonly from?: From | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Speaks to one origin. */
export interface Client {
  call(call: Call): Promise<Answer>
  close(): Promise<void>
}

const CART = '/v1/cart'
const HOT = /^\/v1\/(buy|activities)\//
/** What cart and order answer; everything else is the limiter's, paths that nobody knows among it. */
const MONEY = /^\/v1\/(cart|orders|payments|sandbox)/

/** Makes a client; nothing connects before the first call. A call never rejects: a lost one has status 0. */
export function createClient(settings: ClientSettings): Client {
  const { origin, limiters, connectionsMax, moneyConnectionsMax, answerMsMax } = settings
  const poolOf = (url: string, connections: number) =>
    new Pool(url, {
      connections,
      pipelining: 1,
      headersTimeout: answerMsMax,
      bodyTimeout: answerMsMax,
      connectTimeout: 5_000,
    })
  const share = Math.max(1, Math.floor(connectionsMax / limiters.length))
  const hot = limiters.map((url) => poolOf(url, share))
  // Who puts a token into the cart does not stand behind those who look whether their payment has arrived.
  const till = poolOf(origin, moneyConnectionsMax)
  const rest = poolOf(origin, moneyConnectionsMax)
  const connections = new Connections({ limiters, connectionsMax, answerMsMax })
  let turn = 0
  const poolFor = (path: string) =>
    (HOT.test(path) ? hot[turn++ % hot.length] : undefined) ?? (path === CART ? till : rest)
  const call = async (what: Call): Promise<Answer> => {
    const startedAt = performance.now()
    const { method, path, body } = what
    const from = what.from !== undefined && !MONEY.test(path) ? what.from : undefined
    const pool = from === undefined ? poolFor(path) : connections.of(from)
    try {
      const text = body === undefined ? null : JSON.stringify(body)
      const answer = await pool.request({ path, method, headers: headersOf(what), body: text })
      const received = await answer.body.text()
      return { status: answer.statusCode, body: parse(received), latencyMs: performance.now() - startedAt }
    } catch {
      if (from !== undefined) connections.lost(from.address, pool)
      return { status: 0, body: undefined, latencyMs: performance.now() - startedAt }
    }
  }
  return {
    call,
    close: async () => {
      await Promise.all([connections.close(), ...[till, rest, ...hot].map((pool) => pool.destroy())])
    },
  }
}

function headersOf({ session, body, from, headers }: Call): Record<string, string> {
  const all: Record<string, string> = { ...headers }
  if (session !== undefined) all.authorization = `Bearer ${session}`
  if (body !== undefined) all['content-type'] = 'application/json'
  if (from !== undefined) {
    all['user-agent'] = from.device.userAgent
    if (from.device.id !== '') all['x-device'] = from.device.id
    if (from.device.acceptLanguage !== '') all['accept-language'] = from.device.acceptLanguage
  }
  return all
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
