import { create } from '@bufbuild/protobuf'
import { boundedText, decodeMessage, encodeMessage, toNumber, toU64 } from './checked.ts'
import { ErrorSchema, GoodbyeSchema, HelloSchema, PingSchema, PongSchema } from './gen/link_pb.ts'
import { malformed } from './protocol-error.ts'

/** Length of a nonce. */
export const NONCE_BYTES = 16
/** Length of a proof: HMAC-SHA256. */
export const PROOF_BYTES = 32

/** Longest name, code or role in a link message, in characters. */
export const NAME_CHARS_MAX = 64
const REASON_CHARS_MAX = 512

/** First frame both ways. `proof` is empty in the acceptor's first Hello. */
export interface Hello {
  nodeId: string
  role: string
  versionMajor: number
  versionMinor: number
  nonce: Uint8Array
  proof: Uint8Array
}

/** Writes the body of a Hello. */
export function encodeHello(hello: Hello): Uint8Array {
  return encodeMessage(HelloSchema, create(HelloSchema, hello))
}

/** Throws a ProtocolError unless names, nonce and proof have their sizes. */
export function decodeHello(body: Uint8Array): Hello {
  const { nodeId, role, versionMajor, versionMinor, nonce, proof } = decodeMessage(HelloSchema, body)
  boundedText(nodeId, 'nodeId', NAME_CHARS_MAX)
  boundedText(role, 'role', NAME_CHARS_MAX)
  if (nodeId === '' || role === '') throw malformed('BAD_VALUE', 'hello names no node or no role', { nodeId, role })
  if (nonce.length !== NONCE_BYTES) throw malformed('BAD_VALUE', 'nonce has a wrong size', { bytes: nonce.length })
  if (proof.length !== 0 && proof.length !== PROOF_BYTES) {
    throw malformed('BAD_VALUE', 'proof has a wrong size', { bytes: proof.length })
  }
  return { nodeId, role, versionMajor, versionMinor, nonce, proof }
}

/** Writes the body of a Ping. */
export function encodePing(sentAt: number): Uint8Array {
  return encodeMessage(PingSchema, create(PingSchema, { sentAt: toU64(sentAt, 'sentAt') }))
}

/** The sender's wall clock, ms since the epoch. */
export function decodePing(body: Uint8Array): number {
  return toNumber(decodeMessage(PingSchema, body).sentAt, 'sentAt')
}

/** `sentAt` copied from the Ping, `now` the answerer's wall clock; ms since the epoch. */
export interface Pong {
  sentAt: number
  now: number
}

/** Writes the body of a Pong. */
export function encodePong(pong: Pong): Uint8Array {
  return encodeMessage(
    PongSchema,
    create(PongSchema, { sentAt: toU64(pong.sentAt, 'sentAt'), now: toU64(pong.now, 'now') }),
  )
}

/** Reads the body of a Pong; throws a ProtocolError. */
export function decodePong(body: Uint8Array): Pong {
  const { sentAt, now } = decodeMessage(PongSchema, body)
  return { sentAt: toNumber(sentAt, 'sentAt'), now: toNumber(now, 'now') }
}

/** Writes the body of a Goodbye. */
export function encodeGoodbye(reason: string): Uint8Array {
  return encodeMessage(GoodbyeSchema, create(GoodbyeSchema, { reason: reason.slice(0, REASON_CHARS_MAX) }))
}

/** Reads the reason of a Goodbye; throws a ProtocolError. */
export function decodeGoodbye(body: Uint8Array): string {
  return boundedText(decodeMessage(GoodbyeSchema, body).reason, 'reason', REASON_CHARS_MAX)
}

/** The answer to one frame that could not be answered otherwise. */
export interface ErrorMessage {
  code: string
  message: string
}

/** Writes the body of an Error frame. */
export function encodeError(error: ErrorMessage): Uint8Array {
  const code = error.code.slice(0, NAME_CHARS_MAX)
  return encodeMessage(ErrorSchema, create(ErrorSchema, { code, message: error.message.slice(0, REASON_CHARS_MAX) }))
}

/** Reads the body of an Error frame; throws a ProtocolError. */
export function decodeError(body: Uint8Array): ErrorMessage {
  const { code, message } = decodeMessage(ErrorSchema, body)
  return {
    code: boundedText(code, 'code', NAME_CHARS_MAX),
    message: boundedText(message, 'message', REASON_CHARS_MAX),
  }
}
