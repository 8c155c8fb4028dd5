/** The HTTP edge as a port: two adapters, one conformance suite (docs/adr/0002). */

import type { Reply } from '../core/reply.ts'
import type { AddressCap, AddressCaps } from './address-caps.ts'

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
  /** The address has too much already. */
  readonly crowded: Reply
}

/** An address may hold what it likes. */
export const NO_CAP: AddressCap = {
  connectionsMax: Number.POSITIVE_INFINITY,
  sendersMax: Number.POSITIVE_INFINITY,
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
  /** What an address may hold; without it, what it likes. */
  readonly capOf?: (address: string) => AddressCap
}

/** An HTTP server. */
export interface Edge {
  readonly kind: EdgeKind
  /** Requests that are held. */
  readonly held: number
  /** Open connections, where the adapter can tell. */
  readonly connections?: number
  /** What was refused because its address had too much already; for the figures. */
  readonly caps?: Pick<AddressCaps, 'refusedConnections' | 'refusedSenders'>
  /** Starts to listen and gives the port; rejects when it is taken. */
  start(): Promise<number>
  /** Stops to accept; every reply from now on closes its connection. */
  stop(): Promise<void>
}

/** The adapters. */
export type EdgeKind = 'uws' | 'node'
