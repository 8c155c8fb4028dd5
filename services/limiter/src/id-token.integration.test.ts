import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createIdTokenVerifier, type IdTokenVerifier } from './id-token.ts'

let server: Server
let key: CryptoKey
let verify: IdTokenVerifier
const SETTINGS = { issuer: 'https://id.shop', audience: 'bigtap' }
const sign = (claims: Record<string, unknown>, issuer = SETTINGS.issuer, expires = '1m') =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
    .setIssuer(issuer)
    .setAudience(SETTINGS.audience)
    .setExpirationTime(expires)
    .sign(key)

beforeAll(async () => {
  const pair = await generateKeyPair('ES256')
  key = pair.privateKey
  const keys = [{ ...(await exportJWK(pair.publicKey)), kid: 'k1', alg: 'ES256' }]
  server = createServer((_request, response) => response.end(JSON.stringify({ keys })))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  verify = createIdTokenVerifier({ ...SETTINGS, jwksUrl: `http://127.0.0.1:${port}/keys` })
})
afterAll(() => server.close())

test('a token of the shop’s identity provider names its buyer', async () => {
  expect(await verify(await sign({ sub: '42' }))).toEqual({ ok: true, uid: 42 })
  expect(await verify(await sign({ sub: 'ann', uid: 43 }))).toEqual({ ok: true, uid: 43 })
})

test('another issuer, a token that ran out, a buyer that is no number, and nonsense are refused', async () => {
  const refused = { ok: false, reason: 'refused' }

  expect(await verify(await sign({ sub: '42' }, 'https://evil'))).toEqual(refused)
  expect(await verify(await sign({ sub: '42' }, SETTINGS.issuer, '-1m'))).toEqual(refused)
  expect(await verify(await sign({ sub: 'ann' }))).toEqual(refused)
  expect(await verify('a.b.c')).toEqual(refused)
  expect(await verify('eyJhbGciOiJub25lIn0.eyJzdWIiOiI0MiJ9.')).toEqual(refused)
})

test('when the keys cannot be had it is not the buyer’s fault', async () => {
  const lost = createIdTokenVerifier({ ...SETTINGS, jwksUrl: 'http://127.0.0.1:1/keys' })

  expect(await lost(await sign({ sub: '42' }))).toEqual({ ok: false, reason: 'unavailable' })
})

test('without issuer and audience there is no verifier', () => {
  expect(() => createIdTokenVerifier({ jwksUrl: 'http://x/', issuer: '', audience: 'a' })).toThrow('BIGTAP_JWT_ISSUER')
})
