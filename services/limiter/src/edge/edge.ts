/** The HTTP edge as a port: two adapters, one conformance suite (docs/adr/0002). */

import type { Reply } from '../core/reply.ts'

/** A request whose reply comes later. Exactly one reply is given; after an abort it falls to nothing. */
export interface Held {
  reply(reply: Reply): void
}

/**
 * One request, valid until the handler returns. The handler does one of three: reply at once, hold it, or read its body.
 * `path` is as it was sent, without the query; `header` gives '' when there is none.
 */
export interface Exchange {
  readonly method: string
  readonly path: string
  header(name: string): string
  /** Address of the socket's other end, as text. */
  remoteAddress(): string
  reply(reply: Reply): void
  hold(): Held
  /** Reads the body; one that is too large or too slow is answered by the edge and never reaches `onBody`. */
  readBody(onBody: (held: Held, body: Uint8Array) => void): void
}

/** Takes every request. A handler that throws is answered 500. */
export type ExchangeHandler = (exchange: Exchange) => void

/** What the edge answers by itself. */
export interface EdgeFaults {
  readonly badRequest: Reply
  readonly bodyTooLarge: Reply
  readonly requestTimeout: Reply
  readonly internal: Reply
}

/** Where it listens (port 0: any free one), and its limits. */
export interface EdgeSettings {
  readonly host: string
  readonly port: number
  readonly bodyBytesMax: number
  readonly bodyMsMax: number
}

/** Collaborators of an edge. */
export interface EdgeParts {
  readonly faults: EdgeFaults
  readonly onExchange: ExchangeHandler
  /** A bug in the handler. */
  readonly onError: (error: unknown) => void
}

/** An HTTP server. */
export interface Edge {
  readonly kind: EdgeKind
  /** Requests that are held. */
  readonly held: number
  /** Open connections, where the adapter can tell. */
  readonly connections?: number
  /** Starts to listen and gives the port; rejects when it is taken. */
  start(): Promise<number>
  /** Stops to accept; every reply from now on closes its connection. */
  stop(): Promise<void>
}

/** The adapters. */
export type EdgeKind = 'uws' | 'node'
