/**
 * Operators' sessions: `<base64url of {name, role, expiresAt, nonce}>.<mac>` in cookie bt_admin. Every master accepts it, also
 * after a restart; its key depends on the passwords, so a new password ends the sessions. Who signed out is kept by the
 * leader, in memory and in the settings, so that the next leader knows it too.
 */

import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@bigtap/kernel'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LoginGuard } from '../core/login-guard.ts'
import type { Account, Role } from './accounts.ts'
import { Problem, readJson } from './edge.ts'
import type { ForwardingProof } from './forwarding-proof.ts'

/** Who is signed in. */
export interface Actor {
  readonly name: string
  readonly role: Role
}

/** Throws a Problem `forbidden` for all but an admin. */
export function adminOnly({ role }: Actor, what = 'only an admin may do this'): void {
  if (role !== 'admin') throw new Problem('forbidden', { detail: what })
}

/** What sessions are made from. */
export interface SessionParts {
  readonly accounts: readonly Account[]
  readonly secret: string
  readonly proof: ForwardingProof
  readonly clock: Clock
}

/** Where signed-out sessions are kept: `nonce → expiresAt`. Rejects when it is away. */
export interface SignOuts {
  load(): Promise<Readonly<Record<string, number>>>
  save(signedOut: Readonly<Record<string, number>>): Promise<void>
}

interface Claims extends Actor {
  readonly expiresAt: number
  readonly nonce: string
}

const SESSION_MS = 8 * 3_600_000
const LOGGED_OUT_MAX = 1_024
const COOKIE = /(?:^|;)\s*bt_admin=([^;\s]+)/
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict'

/** Signs in, signs out, and says who asks. */
export class Sessions {
  readonly #parts: SessionParts
  readonly #key: Buffer
  readonly #guard = new LoginGuard()
  readonly #loggedOut = new Map<string, number>()

  constructor(parts: SessionParts) {
    this.#parts = parts
    const all = parts.accounts.map(({ name, role, stamp }) => `${name}=${role}=${stamp}`).join('\n')
    this.#key = createHmac('sha256', parts.secret).update('bigtap admin session\n').update(sha256(all)).digest()
  }

  /** Takes who signed out under the leader before. */
  async recall(signOuts: SignOuts): Promise<void> {
    for (const [nonce, expiresAt] of Object.entries(await signOuts.load())) this.#signOut(nonce, expiresAt)
  }

  addRoutes(app: FastifyInstance, signOuts: SignOuts): void {
    app.post('/admin/v1/login', async (request, reply) => this.#login(request, reply))
    app.post('/admin/v1/logout', async (request, reply) => {
      const { nonce, expiresAt } = this.#claimsForChange(request)
      this.#signOut(nonce, expiresAt)
      // While the record is away this leader alone knows it, until the session ends by itself.
      await signOuts.save(Object.fromEntries(this.#loggedOut)).catch(() => undefined)
      return reply.header('set-cookie', `bt_admin=; ${ATTRIBUTES}; Max-Age=0`).code(204).send()
    })
    app.get('/admin/v1/session', async (request) => {
      const { name, role, nonce } = this.#claims(request)
      return { name, role, csrf: this.#csrfOf(nonce) }
    })
  }

  /** Who may sign in. */
  accounts(): Actor[] {
    return this.#parts.accounts.map(({ name, role }) => ({ name, role }))
  }

  /** Who reads; throws a Problem `no_session`. */
  reader(request: FastifyRequest): Actor {
    const { name, role } = this.#claims(request)
    return { name, role }
  }

  /** Who changes something: needs the CSRF header and a role that may; throws `no_session` or `forbidden`. */
  changer(request: FastifyRequest, least: 'operator' | 'admin' = 'operator'): Actor {
    const { name, role } = this.#claimsForChange(request)
    if (role === 'viewer') throw new Problem('forbidden', { detail: 'a viewer changes nothing' })
    if (least === 'admin') adminOnly({ name, role })
    return { name, role }
  }

  #signOut(nonce: string, expiresAt: number): void {
    const now = this.#parts.clock.now()
    for (const [known, until] of this.#loggedOut) if (until <= now) this.#loggedOut.delete(known)
    this.#loggedOut.set(nonce, expiresAt)
    const [oldest] = this.#loggedOut.keys()
    if (this.#loggedOut.size > LOGGED_OUT_MAX && oldest !== undefined) this.#loggedOut.delete(oldest)
  }

  async #login(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const now = this.#parts.clock.monotonic()
    const address = this.#parts.proof.addressOf(request)
    const retryAfterMs = Math.ceil(this.#guard.waitMs(address, now))
    if (retryAfterMs > 0) throw new Problem('rate_limited', { retryAfterMs })
    const { name, password } = readJson(request)
    if (typeof name !== 'string' || typeof password !== 'string')
      throw new Problem('bad_request', { errors: ['name and password must be texts'] })
    // It counts as failed until it is known to be right: guesses sent side by side are bounded too.
    this.#guard.onFailure(address, now)
    const account = this.#parts.accounts.find((one) => one.name === name)
    // The same work for a name that is not known.
    const isRight = await (account ?? this.#parts.accounts.at(-1))?.verify(password)
    if (account === undefined || isRight !== true)
      throw new Problem('no_session', { detail: 'name or password is wrong' })
    this.#guard.onSuccess(address)
    const nonce = randomBytes(16).toString('hex')
    const expiresAt = this.#parts.clock.now() + SESSION_MS
    const claims: Claims = { name: account.name, role: account.role, expiresAt, nonce }
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url')
    const cookie = `bt_admin=${payload}.${this.#mac(payload)}; ${ATTRIBUTES}; Max-Age=${SESSION_MS / 1_000}`
    return reply
      .header('set-cookie', cookie)
      .send({ csrf: this.#csrfOf(nonce), name: account.name, role: account.role })
  }

  #claims(request: FastifyRequest): Claims {
    const [payload = '', mac = ''] = (COOKIE.exec(request.headers.cookie ?? '')?.[1] ?? '').split('.')
    if (payload === '' || !isSame(mac, this.#mac(payload))) throw new Problem('no_session')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims
    const isOver = this.#parts.clock.now() >= claims.expiresAt || this.#loggedOut.has(claims.nonce)
    if (isOver) throw new Problem('no_session')
    return claims
  }

  #claimsForChange(request: FastifyRequest): Claims {
    const claims = this.#claims(request)
    const given = request.headers['x-csrf-token']
    if (typeof given !== 'string' || !isSame(given, this.#csrfOf(claims.nonce)))
      throw new Problem('forbidden', { detail: 'header X-CSRF-Token is missing or wrong' })
    return claims
  }

  #mac(payload: string): string {
    return createHmac('sha256', this.#key).update(payload).digest('base64url')
  }

  #csrfOf(nonce: string): string {
    return createHmac('sha256', this.#key).update(`csrf ${nonce}`).digest('base64url')
  }
}

function isSame(a: string, b: string): boolean {
  return timingSafeEqual(sha256(a), sha256(b))
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
