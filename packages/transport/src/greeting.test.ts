import { readFileSync } from 'node:fs'
import { decodeHello, encodeHello } from '@bigtap/protocol'
import { expect, test } from 'vitest'
import { createGreeting } from './greeting.ts'
import { linkKey, proofOf } from './hello-proof.ts'
import { parseAddress, TransportError } from './index.ts'

const nonces = { acceptor: new Uint8Array(16).fill(1), dialer: new Uint8Array(16).fill(2) }
const make = (side: 'acceptor' | 'dialer', secret = 'secret', peerNodeId?: string) =>
  createGreeting({ side, key: linkKey(secret), nodeId: side, role: side, nonce: nonces[side], peerNodeId })

function exchange(acceptor: ReturnType<typeof make>, dialer: ReturnType<typeof make>): string[] {
  const answer = dialer.receive(acceptor.first() ?? new Uint8Array(0))
  if (answer.kind !== 'answer') return [answer.kind]
  const accepted = acceptor.receive(answer.body)
  if (accepted.kind !== 'answer') return [accepted.kind === 'refused' ? accepted.reason : accepted.kind]
  const done = dialer.receive(accepted.body)
  return [accepted.kind, done.kind === 'refused' ? done.reason : done.kind]
}

test('two nodes with the same secret greet each other', () => {
  expect(exchange(make('acceptor'), make('dialer'))).toEqual(['answer', 'ready'])
})

test('a node with another secret is refused by the acceptor', () => {
  expect(exchange(make('acceptor'), make('dialer', 'another'))).toEqual(['BAD_PROOF'])
})

test('a dialer that expects another node refuses', () => {
  expect(exchange(make('acceptor'), make('dialer', 'secret', 'middle-9'))).toEqual(['answer', 'BAD_HELLO'])
})

test('a hello that is sent back to its maker, or without a proof, proves nothing', () => {
  const acceptor = make('acceptor')
  const own = acceptor.first() ?? new Uint8Array(0)
  const hello = decodeHello(own)
  const reflected = proofOf(linkKey('secret'), 'acceptor', { ...nonces, dialer: hello.nonce }, hello)

  expect(acceptor.receive(own)).toEqual({ kind: 'refused', reason: 'BAD_PROOF' })
  expect(acceptor.receive(encodeHello({ ...hello, proof: reflected })).kind).toBe('refused')
})

test('proofs are the golden ones', () => {
  const path = new URL('../../../proto/vectors/hello.json', import.meta.url)
  const vectors = JSON.parse(readFileSync(path, 'utf8'))
  expect(vectors.length).toBe(2)
  for (const vector of vectors) {
    const golden = {
      acceptor: Buffer.from(vector.acceptorNonce, 'hex'),
      dialer: Buffer.from(vector.dialerNonce, 'hex'),
    }
    expect(proofOf(linkKey(vector.secret), vector.side, golden, vector).toString('hex')).toBe(vector.proof)
  }
})

test('an address is host:port', () => {
  expect(parseAddress('127.0.0.1:8300')).toEqual({ host: '127.0.0.1', port: 8300 })
  expect(parseAddress('[::1]:8300')).toEqual({ host: '::1', port: 8300 })
  for (const text of ['', 'host', 'host:', ':80', 'host:0', 'host:65536', 'host:1x', 'a b:1']) {
    expect(() => parseAddress(text)).toThrow(TransportError)
  }
})
