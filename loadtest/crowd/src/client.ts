/** The crowd's HTTP client: keep-alive connections, a deadline on every call. */

import { Pool } from 'undici'

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

/** One call. */
export interface Call {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly session?: string | undefined
  readonly body?: unknown
}

/** Speaks to one origin. */
export interface Client {
  call(call: Call): Promise<Answer>
  close(): Promise<void>
}

const CART = '/v1/cart'
const HOT = /^\/v1\/(buy|activities)\//

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
  let turn = 0
  const poolFor = (path: string) =>
    (HOT.test(path) ? hot[turn++ % hot.length] : undefined) ?? (path === CART ? till : rest)
  const call = async ({ method, path, session, body }: Call): Promise<Answer> => {
    const startedAt = performance.now()
    const headers: Record<string, string> = {}
    if (session !== undefined) headers.authorization = `Bearer ${session}`
    if (body !== undefined) headers['content-type'] = 'application/json'
    try {
      const text = body === undefined ? null : JSON.stringify(body)
      const answer = await poolFor(path).request({ path, method, headers, body: text })
      const received = await answer.body.text()
      return { status: answer.statusCode, body: parse(received), latencyMs: performance.now() - startedAt }
    } catch {
      return { status: 0, body: undefined, latencyMs: performance.now() - startedAt }
    }
  }
  return {
    call,
    close: async () => {
      await Promise.all([till, rest, ...hot].map((pool) => pool.destroy()))
    },
  }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
