import { type KeyRing, verifySession } from '@bigtap/token'
import type { FastifyRequest } from 'fastify'
import { Problem } from './edge.ts'

const COOKIE = /(?:^|;)\s*bt_session=([^;\s]+)/

/** Whose session the request carries (`Authorization: Bearer` or cookie `bt_session`); throws a Problem `no_session`. */
export function readUid(request: FastifyRequest, ring: KeyRing, nowMs: number): number {
  const { authorization, cookie } = request.headers
  const session = authorization?.startsWith('Bearer ') ? authorization.slice(7).trim() : COOKIE.exec(cookie ?? '')?.[1]
  const result = session === undefined ? undefined : verifySession(ring, session, nowMs)
  if (result?.ok) return result.uid
  throw new Problem('no_session')
}
