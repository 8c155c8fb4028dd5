/** A small client of the admin API, as an operator's script would use it. */

/** Figures of one SKU as `GET /admin/v1/invariants` tells them. */
export interface SkuInvariants {
  readonly activityId: number
  readonly skuId: number
  readonly stock: number
  readonly free: number
  readonly held: number
  readonly sold: number
  readonly pool: number
  readonly leased: number
  readonly outstanding: number
  readonly redeemed: number
  readonly orders: number
  readonly reservedTotal: number
  readonly paid: number
  readonly expired: number
  readonly cancelled: number
  readonly refunds: number
  readonly violations: readonly string[]
}

/** The whole answer of `GET /admin/v1/invariants`. */
export interface Invariants {
  readonly ok: boolean
  readonly skus: readonly SkuInvariants[]
}

const CALL_MS_MAX = 5_000
const TRIES_MAX = 60
const RETRY_MS = 250

/** Speaks to any of the masters; every call has a timeout, and is repeated at the next one while one is away. */
export class AdminClient {
  readonly #origins: readonly string[]
  #at = 0
  #cookie = ''
  #csrf = ''

  constructor(origins: readonly string[]) {
    this.#origins = origins
  }

  /** Opens a session; rejects when name or password is wrong. */
  async login(name: string, password: string): Promise<void> {
    const answer = await this.#fetch('POST', 'login', { name, password })
    this.#cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    this.#csrf = ((await answer.json()) as { csrf: string }).csrf
  }

  /** Makes one call and returns the parsed answer; retried while no master can be reached or all answer 503. */
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.#fetch(method, path, body)
    const text = await answer.text()
    return (text === '' ? undefined : JSON.parse(text)) as T
  }

  /** Opens an answer that does not end, such as the stream; the signal ends it. */
  open(path: string, signal: AbortSignal): Promise<Response> {
    return fetch(`${this.#origins[this.#at]}/admin/v1/${path}`, { headers: { cookie: this.#cookie }, signal })
  }

  async #fetch(method: string, path: string, body: unknown): Promise<Response> {
    let last = 'no answer'
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const answer = await this.#try(method, path, body).catch((error: unknown) => {
        last = String(error)
        return undefined
      })
      if (answer?.ok) return answer
      if (answer) {
        last = `${answer.status} ${await answer.text()}`
        if (answer.status !== 503) break
      }
      this.#at = (this.#at + 1) % this.#origins.length
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
    throw new Error(`${method} /admin/v1/${path} failed: ${last}`)
  }

  #try(method: string, path: string, body: unknown): Promise<Response> {
    return fetch(`${this.#origins[this.#at]}/admin/v1/${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        cookie: this.#cookie,
        'x-csrf-token': this.#csrf,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(CALL_MS_MAX),
    })
  }
}
