/** The exchange of the shop's own identity token for a session: JWKS, issuer and audience are checked. */

import { parseId } from '@bigtap/domain'
import { createRemoteJWKSet, errors, jwtVerify } from 'jose'

/** Whose tokens are taken. */
export interface IdTokenSettings {
  readonly jwksUrl: string
  readonly issuer: string
  readonly audience: string
}

/** What became of a token. `unavailable`: the keys cannot be had now. */
export type IdTokenResult = { ok: true; uid: number } | { ok: false; reason: 'refused' | 'unavailable' }

/** Checks a token of the identity provider. */
export type IdTokenVerifier = (idToken: string) => Promise<IdTokenResult>

const JWKS_MS_MAX = 2_000
const JWKS_CACHE_MS = 600_000
const JWKS_COOLDOWN_MS = 30_000
/** Signatures by keys of the provider only: never by a shared secret, never none. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'ES256', 'ES384', 'EdDSA']

/** Makes the verifier; the key set is fetched when first needed and kept. */
export function createIdTokenVerifier({ jwksUrl, issuer, audience }: IdTokenSettings): IdTokenVerifier {
  // An empty one would not be checked at all.
  if (issuer === '' || audience === '')
    throw new Error('BIGTAP_JWKS_URL needs BIGTAP_JWT_ISSUER and BIGTAP_JWT_AUDIENCE')
  const keys = createRemoteJWKSet(new URL(jwksUrl), {
    timeoutDuration: JWKS_MS_MAX,
    cacheMaxAge: JWKS_CACHE_MS,
    cooldownDuration: JWKS_COOLDOWN_MS,
  })
  return async (idToken) => {
    try {
      const { payload } = await jwtVerify(idToken, keys, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        requiredClaims: ['exp', 'sub'],
        clockTolerance: 5,
      })
      const uid = parseId(payload.uid) ?? parseId(payload.sub)
      return uid === undefined ? { ok: false, reason: 'refused' } : { ok: true, uid }
    } catch (error) {
      return { ok: false, reason: isOfKeys(error) ? 'unavailable' : 'refused' }
    }
  }
}

/** Did the key set fail, and not the token? What is no error of jose came from the network. */
function isOfKeys(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return true
  return error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid || error.code === 'ERR_JOSE_GENERIC'
}
