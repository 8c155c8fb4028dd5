/** The crowd's HTTP client: keep-alive connections to the public origin, a deadline on every call. */

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
  readonly connectionsMax: number
  /** Connections kept for cart, payment and orders: a buyer at the till does not stand behind those who refresh. */
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

const MONEY = /^\/v1\/(cart|orders|sandbox)\b/

/** Makes a client; nothing connects before the first call. A call never rejects: a lost one has status 0. */
export function createClient(settings: ClientSettings): Client {
  const { origin, connectionsMax, moneyConnectionsMax, answerMsMax } = settings
  const poolOf = (connections: number) =>
    new Pool(origin, {
      connections,
      pipelining: 1,
      headersTimeout: answerMsMax,
      bodyTimeout: answerMsMax,
      connectTimeout: 5_000,
    })
  const crowd = poolOf(connectionsMax)
  const money = poolOf(moneyConnectionsMax)
  const call = async ({ method, path, session, body }: Call): Promise<Answer> => {
    const startedAt = performance.now()
    const headers: Record<string, string> = {}
    if (session !== undefined) headers.authorization = `Bearer ${session}`
    if (body !== undefined) headers['content-type'] = 'application/json'
    try {
      const answer = await (MONEY.test(path) ? money : crowd).request({
        path,
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
      })
      const text = await answer.body.text()
      return { status: answer.statusCode, body: parse(text), latencyMs: performance.now() - startedAt }
    } catch {
      return { status: 0, body: undefined, latencyMs: performance.now() - startedAt }
    }
  }
  return {
    call,
    close: async () => {
      await Promise.all([crowd.destroy(), money.destroy()])
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
