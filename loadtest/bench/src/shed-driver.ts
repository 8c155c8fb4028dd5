/**
 * The load of bench `shed`, a process: each buyer has an address of its own in 127.0.0.0/8 and a connection that is kept,
 * and asks at its own beat whether the last answer was quick or not. Who abuses is seen by what it does, not by a label.
 */

import { connect, type Socket } from 'node:net'
import { createKeyRing, issueSession, issueTicket, type KeyRing } from '@bigtap/token'
import { ABUSIVE_BEAT_MS, type DriverResult, type DriverStage, type DriverTask, NORMAL_BEAT_MS } from './shed-task.ts'

const HOUR_MS = 3_600_000
const TICK_MS = 5
/** Of the scripts, one in three shows tickets of others now and then, one in three none that was ever given. */
const FOREIGN_EVERY = 10

type Kind = keyof DriverResult
const fresh = () => ({ asked: 0, merit: 0, shed: 0, lost: 0 })
const counts = { normal: fresh(), abusive: fresh() }

process.on('disconnect', () => process.exit(0))
process.on('message', (message: DriverTask | DriverStage | 'counts') => {
  if (message === 'counts') {
    process.send?.({ normal: { ...counts.normal }, abusive: { ...counts.abusive } } satisfies DriverResult)
    Object.assign(counts.normal, fresh())
    Object.assign(counts.abusive, fresh())
  } else if ('secret' in message) begin(message)
  else {
    stage = message
    process.send?.('staged')
  }
})

let stage: DriverStage = { normal: 0, abusive: 0 }

function begin(task: DriverTask): void {
  const ring = createKeyRing({ current: task.secret })
  const speakers = {
    normal: Array.from({ length: task.normal }, (_, index) => new Speaker('normal', index, task, ring)),
    abusive: Array.from({ length: task.abusive }, (_, index) => new Speaker('abusive', index, task, ring)),
  }
  const startedAt = performance.now()
  let tickedAt = 0
  setInterval(() => {
    const at = performance.now() - startedAt
    turn(speakers.normal, NORMAL_BEAT_MS, stage.normal, tickedAt, at)
    turn(speakers.abusive, ABUSIVE_BEAT_MS, stage.abusive, tickedAt, at)
    tickedAt = at
  }, TICK_MS)
  process.send?.('ready')
}

/** Whose beat falls between two moments asks; the beats of a crowd are spread evenly. */
function turn(speakers: readonly Speaker[], beatMs: number, count: number, fromMs: number, untilMs: number): void {
  for (let index = 0; index < Math.min(count, speakers.length); index++) {
    const offset = (index * beatMs * 0.618) % beatMs
    const beats = Math.floor((untilMs - offset) / beatMs) - Math.floor((fromMs - offset) / beatMs)
    if (beats > 0) speakers[index]?.ask()
  }
}

class Speaker {
  readonly #count: (typeof counts)[Kind]
  readonly #port: number
  readonly #address: string
  readonly #request: Buffer
  readonly #odd: Buffer | undefined
  #socket: Socket | undefined
  #isAsking = false
  #asks = 0
  #text = ''

  constructor(kind: Kind, index: number, task: DriverTask, ring: KeyRing) {
    this.#count = counts[kind]
    this.#port = task.port
    const isNormal = kind === 'normal'
    const uid = (isNormal ? 1_000_000 : 2_000_000) + index
    // Scripts sit on few addresses, four each; buyers on one of their own.
    const host = isNormal ? index : index >> 2
    this.#address = `127.${isNormal ? 16 : 96}.${1 + Math.floor(host / 250)}.${1 + (host % 250)}`
    const session = issueSession(ring, { uid, expiresAt: Date.now() + HOUR_MS })
    this.#request = requestOf(ticketOf(uid, task, ring), session)
    this.#odd = isNormal || index % 3 === 0 ? undefined : requestOf(oddTicket(uid, index % 3, task, ring), session)
  }

  ask(): void {
    // One at a time, as a browser does; a beat that falls into the time of an answer is skipped.
    if (this.#isAsking) return
    const socket = this.#open()
    this.#isAsking = true
    this.#count.asked++
    this.#asks++
    socket.write(this.#odd !== undefined && this.#asks % FOREIGN_EVERY === 0 ? this.#odd : this.#request)
  }

  #open(): Socket {
    if (this.#socket !== undefined && !this.#socket.destroyed) return this.#socket
    const socket = connect({ port: this.#port, host: '127.0.0.1', localAddress: this.#address, noDelay: true })
    this.#text = ''
    socket.on('data', (chunk) => this.#onData(chunk))
    socket.on('error', () => undefined) // it closes too, and is counted there
    socket.on('close', () => {
      if (this.#socket !== socket) return
      this.#socket = undefined
      if (this.#isAsking) this.#count.lost++
      this.#isAsking = false
    })
    this.#socket = socket
    return socket
  }

  #onData(chunk: Buffer): void {
    this.#text += chunk.toString('latin1')
    const end = this.#text.indexOf('\r\n\r\n')
    if (end < 0) return
    const length = /content-length: (\d+)/i.exec(this.#text.slice(0, end))?.[1]
    if (this.#text.length < end + 4 + Number(length ?? 0)) return
    const isShed = this.#text.includes('"code":"overloaded"') || this.#text.includes('"code":"unavailable"')
    if (isShed) this.#count.shed++
    else this.#count.merit++
    this.#text = ''
    this.#isAsking = false
  }
}

function ticketOf(uid: number, { activityId, skuId, opensAt }: DriverTask, ring: KeyRing): string {
  return issueTicket(ring, { uid, activityId, skuId, notBefore: opensAt, expiresAt: Date.now() + HOUR_MS / 2 })
}

function oddTicket(uid: number, how: number, task: DriverTask, ring: KeyRing): string {
  if (how === 1) return ticketOf(uid + 1_000_000, task, ring)
  const own = ticketOf(uid, task, ring)
  return `${own.slice(0, -4)}AAAA`
}

function requestOf(ticket: string, session: string): Buffer {
  return Buffer.from(`GET /v1/buy/${ticket} HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer ${session}\r\n\r\n`)
}
