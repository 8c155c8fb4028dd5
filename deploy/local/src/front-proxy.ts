/** Passes requests of the public origin on to the services behind it; stands in for an ingress on one machine. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Dispatcher, Pool } from 'undici'
import { isRepeatable, type Target, targetOf } from './front-routes.ts'

/** Limits of the front; bytes and milliseconds. */
export interface ProxySettings {
  readonly limiters: readonly string[]
  readonly cart: string
  readonly order: string
  readonly connectionsMax: number
  readonly bodyBytesMax: number
  readonly answerMsMax: number
}

/** A reverse proxy over keep-alive pools, one per upstream process. */
export interface Proxy {
  handle(request: IncomingMessage, response: ServerResponse): void
  close(): Promise<void>
}

type Upstream = Exclude<Target, 'storefront'>

interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly target: Upstream
  readonly body: Buffer | undefined
  triesLeft: number
}

const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'te', 'trailer', 'expect'])

/** Makes the pools; nothing connects before the first request. */
export function createProxy(settings: ProxySettings): Proxy {
  const pool = (address: string) =>
    new Pool(`http://${address}`, {
      connections: settings.connectionsMax,
      pipelining: 1,
      headersTimeout: settings.answerMsMax,
      bodyTimeout: settings.answerMsMax,
      connectTimeout: 1_000,
    })
  const pools: Record<Upstream, Pool[]> = {
    limiter: settings.limiters.map(pool),
    cart: [pool(settings.cart)],
    order: [pool(settings.order)],
  }
  let turn = 0

  const send = (call: Call): void => {
    const choices = pools[call.target]
    const upstream = choices[turn++ % choices.length]
    if (!upstream) {
      refuse(call.response, 503, 'unavailable')
      return
    }
    call.triesLeft--
    upstream.dispatch(
      {
        path: call.request.url ?? '/',
        method: (call.request.method ?? 'GET') as Dispatcher.HttpMethod,
        headers: headersFor(call.request),
        body: call.body ?? null,
      },
      answerHandler(call, send),
    )
  }
  return {
    handle: (request, response) => accept(request, response, settings.bodyBytesMax, send),
    close: async () => {
      await Promise.all(
        Object.values(pools)
          .flat()
          .map((one) => one.destroy()),
      )
    },
  }
}

function accept(request: IncomingMessage, response: ServerResponse, bytesMax: number, send: (call: Call) => void) {
  const target = targetOf(request.url ?? '/')
  if (target === 'storefront') return refuse(response, 404, 'not_found')
  const triesLeft = isRepeatable(request.method ?? 'GET', target) ? 2 : 1
  if (request.method === 'GET' || request.method === 'HEAD') {
    return send({ request, response, target, body: undefined, triesLeft })
  }
  const chunks: Buffer[] = []
  let bytes = 0
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= bytesMax) chunks.push(chunk)
    else if (!response.headersSent) refuse(response, 413, 'body_too_large')
  })
  request.on('end', () => {
    if (bytes <= bytesMax) send({ request, response, target, body: Buffer.concat(chunks), triesLeft })
  })
}

function answerHandler(call: Call, retry: (call: Call) => void): Dispatcher.DispatchHandler {
  const { response } = call
  return {
    onRequestStart() {},
    onResponseStart(_controller, statusCode, headers) {
      const kept: Record<string, string | string[]> = {}
      for (const [name, value] of Object.entries(headers)) {
        if (value !== undefined && !HOP_BY_HOP.has(name)) kept[name] = value
      }
      // An upstream that wants the abuser's connection closed means the buyer's one, not ours to it.
      if (headers.connection === 'close') kept.connection = 'close'
      response.writeHead(statusCode, kept)
    },
    onResponseData(_controller, chunk) {
      response.write(chunk)
    },
    onResponseEnd() {
      response.end()
    },
    onResponseError() {
      if (response.headersSent) response.destroy()
      else if (call.triesLeft > 0) retry(call)
      else refuse(response, 503, 'unavailable')
    },
  }
}

function headersFor(request: IncomingMessage): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined && !HOP_BY_HOP.has(name) && name !== 'content-length') headers[name] = value
  }
  headers['x-forwarded-for'] = request.socket.remoteAddress ?? ''
  return headers
}

/** Answers with a problem document (RFC 9457). */
export function refuse(response: ServerResponse, status: number, code: string): void {
  const retry = status === 503 ? { 'retry-after': '1' } : {}
  response.writeHead(status, { 'content-type': 'application/problem+json', ...retry })
  response.end(JSON.stringify({ type: 'about:blank', status, code, ...(status === 503 ? { retryAfterMs: 1000 } : {}) }))
}
