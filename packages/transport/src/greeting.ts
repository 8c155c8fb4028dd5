import type { KeyObject } from 'node:crypto'
import { decodeHello, encodeHello, type Hello, VERSION_MAJOR, VERSION_MINOR } from '@bigtap/protocol'
import { isProof, type Nonces, proofOf, type Side } from './hello-proof.ts'

/*
 *   acceptor                                   dialer
 *      │ ── Hello {nonce A, no proof} ──────────► │
 *      │ ◄── Hello {nonce D, proof over A, D} ─── │   the dialer proves itself first
 *      │ ── Hello {nonce A, proof over A, D} ───► │
 *    ready                                      ready
 */

/** What a received Hello leads to: bytes to answer, and whether the peer is proved. */
export type GreetingStep =
  | { kind: 'answer'; body: Uint8Array; peer: Hello | undefined }
  | { kind: 'ready'; peer: Hello }
  | { kind: 'refused'; reason: 'BAD_PROOF' | 'BAD_HELLO' }

/** One end of the Hello exchange; does no I/O. */
export interface Greeting {
  /** The first Hello of the acceptor; the dialer has none. */
  first(): Uint8Array | undefined
  /** Takes the body of a received Hello. Throws a ProtocolError when it is no Hello. */
  receive(body: Uint8Array): GreetingStep
}

/** Which side greets, under which name and key. */
export interface GreetingSettings {
  side: Side
  key: KeyObject
  nodeId: string
  role: string
  nonce: Uint8Array
  /** The only node that the dialer accepts, when it knows. */
  peerNodeId?: string | undefined
}

/** Starts the exchange of Hellos of one link. */
export function createGreeting(settings: GreetingSettings): Greeting {
  return settings.side === 'acceptor' ? createAcceptorGreeting(settings) : createDialerGreeting(settings)
}

function createAcceptorGreeting({ key, nodeId, role, nonce }: GreetingSettings): Greeting {
  const self = { nodeId, role, versionMajor: VERSION_MAJOR, versionMinor: VERSION_MINOR }
  return {
    first: () => encodeHello({ ...self, nonce, proof: new Uint8Array(0) }),
    receive: (body) => {
      const peer = decodeHello(body)
      const nonces: Nonces = { acceptor: nonce, dialer: peer.nonce }
      if (!isProof(proofOf(key, 'dialer', nonces, peer), peer.proof)) return { kind: 'refused', reason: 'BAD_PROOF' }
      const proof = proofOf(key, 'acceptor', nonces, self)
      return { kind: 'answer', body: encodeHello({ ...self, nonce, proof }), peer }
    },
  }
}

function createDialerGreeting({ key, nodeId, role, nonce, peerNodeId }: GreetingSettings): Greeting {
  const self = { nodeId, role, versionMajor: VERSION_MAJOR, versionMinor: VERSION_MINOR }
  let challenge: Uint8Array | undefined
  return {
    first: () => undefined,
    receive: (body) => {
      const peer = decodeHello(body)
      if (challenge === undefined) {
        challenge = Uint8Array.from(peer.nonce)
        const proof = proofOf(key, 'dialer', { acceptor: challenge, dialer: nonce }, self)
        return { kind: 'answer', body: encodeHello({ ...self, nonce, proof }), peer: undefined }
      }
      const expected = proofOf(key, 'acceptor', { acceptor: challenge, dialer: nonce }, peer)
      if (!isProof(expected, peer.proof)) return { kind: 'refused', reason: 'BAD_PROOF' }
      if (peerNodeId !== undefined && peer.nodeId !== peerNodeId) return { kind: 'refused', reason: 'BAD_HELLO' }
      return { kind: 'ready', peer }
    },
  }
}
