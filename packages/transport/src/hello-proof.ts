import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Hello } from '@bigtap/protocol'

/*
 * proof = HMAC-SHA256(HMAC-SHA256(cluster secret, "bigtap.link.v1"), fields), where each field is written as
 * [u8 length][bytes]:  side | acceptor's nonce | dialer's nonce | node id | role | [major, minor]
 *
 * `side` ("acceptor" or "dialer") is that of the sender, so that no proof can be sent back to its maker; both nonces make
 * each proof good for one link only.
 */

/** Which end of the link a node is. */
export type Side = 'acceptor' | 'dialer'

/** The two nonces of one link. */
export interface Nonces {
  acceptor: Uint8Array
  dialer: Uint8Array
}

/** The key of the links, derived from the cluster secret. */
export function linkKey(clusterSecret: string): KeyObject {
  return createSecretKey(createHmac('sha256', clusterSecret).update('bigtap.link.v1').digest())
}

/** The 32 bytes that `side` sends with its Hello. */
export function proofOf(key: KeyObject, side: Side, nonces: Nonces, hello: Omit<Hello, 'nonce' | 'proof'>): Buffer {
  const mac = createHmac('sha256', key)
  const fields = [
    Buffer.from(side),
    nonces.acceptor,
    nonces.dialer,
    Buffer.from(hello.nodeId),
    Buffer.from(hello.role),
    Uint8Array.of(hello.versionMajor, hello.versionMinor),
  ]
  for (const field of fields) mac.update(Uint8Array.of(field.length)).update(field)
  return mac.digest()
}

/** Compares in constant time. */
export function isProof(expected: Uint8Array, proof: Uint8Array): boolean {
  return expected.length === proof.length && timingSafeEqual(expected, proof)
}
