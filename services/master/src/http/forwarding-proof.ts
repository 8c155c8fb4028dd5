/** Whose request a standby hands on: the client's address, signed, so that nobody else can claim one. */

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'

/** Header of a request that was handed on: `<address>;<mac>`. */
export const FORWARDED_FOR = 'x-bigtap-forwarded-for'

/** Signs addresses, and reads them. */
export class ForwardingProof {
  readonly #key: Buffer

  constructor(secret: string) {
    this.#key = createHmac('sha256', secret).update('bigtap admin forwarding').digest()
  }

  sign(address: string): string {
    return `${address};${this.#mac(address).toString('hex')}`
  }

  /** The client's address: the signed one of a request that was handed on, else the socket's. */
  addressOf(request: FastifyRequest): string {
    const given = request.headers[FORWARDED_FOR]
    const [address = '', mac = ''] = typeof given === 'string' ? given.split(';') : []
    const found = Buffer.from(mac, 'hex')
    const wanted = this.#mac(address)
    return found.length === wanted.length && timingSafeEqual(found, wanted) ? address : request.ip
  }

  #mac(address: string): Buffer {
    return createHmac('sha256', this.#key).update(address).digest()
  }
}
