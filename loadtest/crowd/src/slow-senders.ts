/** Half-sent requests that stay open: a header that never ends, or a body that comes byte by byte. */

import { connect, type Socket } from 'node:net'

/** Limits; ms. */
export interface SlowSettings {
  readonly host: string
  readonly ports: readonly number[]
  /** Held open at the same time; one more goes away at once. */
  readonly socketsMax: number
  readonly holdMs: number
}

const BYTE_EVERY_MS = 500

/** Opens raw sockets, bounded in number and time. */
export class SlowSenders {
  /** Requests that were held open until we ended them, and such that the server ended first. */
  held = 0
  cutOff = 0
  /** Not begun because too many were open. */
  skipped = 0
  readonly #settings: SlowSettings
  readonly #sockets = new Set<Socket>()
  #turn = 0

  constructor(settings: SlowSettings) {
    this.#settings = settings
  }

  /** Sockets that are open now. */
  get open(): number {
    return this.#sockets.size
  }

  /** Sends half a request from an address and holds it; resolves when either side has ended it. Never rejects. */
  hold(localAddress: string, session: string): Promise<void> {
    const { host, ports, socketsMax, holdMs } = this.#settings
    if (this.#sockets.size >= socketsMax) {
      this.skipped++
      return Promise.resolve()
    }
    const turn = this.#turn++
    const socket = connect({ host, port: ports[turn % ports.length] ?? 0, localAddress })
    this.#sockets.add(socket)
    socket.write(halfRequest(turn % 2 === 0, session))
    let isOurs = false
    const drip = setInterval(() => socket.write('a'), BYTE_EVERY_MS)
    const end = setTimeout(() => {
      isOurs = true
      socket.destroy()
    }, holdMs)
    socket.on('error', () => socket.destroy())
    socket.on('end', () => socket.destroy())
    socket.resume()
    return new Promise((resolve) => {
      socket.once('close', () => {
        clearInterval(drip)
        clearTimeout(end)
        this.#sockets.delete(socket)
        if (isOurs) this.held++
        else this.cutOff++
        resolve()
      })
    })
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}

function halfRequest(inHeader: boolean, session: string): string {
  const head = `Host: 127.0.0.1\r\nAuthorization: Bearer ${session}\r\n`
  if (inHeader) return `GET /v1/buy/slow HTTP/1.1\r\n${head}X-Slow: `
  return `POST /v1/session HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 4000\r\n\r\n{`
}
