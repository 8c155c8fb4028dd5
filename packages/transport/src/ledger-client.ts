import { type Clock, CodedError, type Logger, type Metrics, type Random } from '@bigtap/kernel'
import {
  decodeLedgerReplies,
  encodeLedgerCalls,
  KIND,
  type Kind,
  LEDGER_ROWS_MAX,
  type LedgerCallInit,
  type LedgerReply,
  VERB,
} from '@bigtap/protocol'
import { Batcher } from './batcher.ts'
import { createDialer, type Dialer, type DialerSettings } from './dialer.ts'
import type { Link } from './link.ts'

/** How the ledger is called; `role` names the service in the metrics. */
export interface LedgerClientSettings extends DialerSettings {
  /** A call that has no reply by then is given up: its outcome is unknown, ms. */
  readonly deadlineMs: number
  /** Calls in flight; one more is refused at once. */
  readonly callsMax: number
  /** Calls in one frame. */
  readonly mergeMax: number
}

/** What the client works with. */
export interface LedgerClientParts {
  readonly logger: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  readonly random: Random
  /** Makes the link; another one in a simulation. */
  readonly dial?: typeof createDialer
}

/** The ledger did not answer; with TIMEOUT and LINK_LOST the call may have been done, so the caller repeats the same token. */
export class LedgerFault extends CodedError {
  override readonly name = 'LedgerFault'
  declare readonly code: 'OVERLOADED' | 'NOT_CONNECTED' | 'TIMEOUT' | 'LINK_LOST'

  constructor(code: LedgerFault['code'], data: Record<string, unknown> = {}) {
    super({ code, message: `ledger call ended with ${code}`, data })
  }
}

/** What a reservation says: the claims of an admission token. */
export interface ReserveClaims {
  readonly tokenId: string
  readonly uid: number
  readonly activityId: number
  readonly skuId: number
  readonly quantity: number
  readonly expiresAt: number
}

interface Waiting {
  readonly startedAt: number
  readonly resolve: (reply: LedgerReply) => void
  readonly reject: (fault: LedgerFault) => void
}

const SWEEP_MS = 10
const CALL_BYTES = 128

/**
 * Calls of the counter, merged: all calls of one turn of the event loop leave in one frame. Replies are matched by call
 * id, so the counter may answer them in any order and in any number of frames; a late one is counted, never mistaken.
 */
export class LedgerClient {
  readonly dialer: Dialer
  readonly #settings: LedgerClientSettings
  readonly #clock: Clock
  readonly #waiting = new Map<number, Waiting>()
  readonly #batcher: Batcher
  readonly #metrics: ReturnType<typeof declare>
  #calls: LedgerCallInit[] = []
  #callId = 0
  #sweeper: NodeJS.Timeout | undefined

  constructor(settings: LedgerClientSettings, parts: LedgerClientParts) {
    this.#settings = settings
    this.#clock = parts.clock
    this.#metrics = declare(parts.metrics, settings.role, this.#waiting, settings.callsMax)
    const mergeMax = Math.min(settings.mergeMax, LEDGER_ROWS_MAX)
    this.#batcher = new Batcher({ itemsMax: mergeMax, bytesMax: 262_144 }, { flush: () => this.#flush() })
    this.dialer = (parts.dial ?? createDialer)(settings, {
      ...parts,
      onFrame: (_link: Link, kind: Kind, _correlation: number, body: Uint8Array) => {
        if (kind === KIND.reserveReply) this.#onReplies(body)
      },
      onClose: () => this.#failAll('LINK_LOST'),
      inFlight: () => this.#waiting.size,
    })
  }

  get inFlight(): number {
    return this.#waiting.size
  }

  start(): void {
    this.dialer.start()
  }

  async stop(): Promise<void> {
    await this.dialer.stop()
    clearInterval(this.#sweeper)
    this.#failAll('LINK_LOST')
  }

  /** Turns a token into an order, once. Rejects with a LedgerFault, as the others do. */
  reserve(claims: ReserveClaims): Promise<LedgerReply> {
    const { tokenId, uid, activityId, skuId, quantity, expiresAt } = claims
    return this.#call({ verb: VERB.reserve, tokenId, uid, activityId, skuId, quantity, expiresAt })
  }

  /** A payment came: the hold becomes a sale. */
  confirm(activityId: number, orderId: string): Promise<LedgerReply> {
    return this.#call({ verb: VERB.confirm, activityId, orderId })
  }

  /** The buyer gives it back. */
  cancel(activityId: number, orderId: string): Promise<LedgerReply> {
    return this.#call({ verb: VERB.cancel, activityId, orderId })
  }

  #call(call: Omit<LedgerCallInit, 'callId'>): Promise<LedgerReply> {
    if (this.#waiting.size >= this.#settings.callsMax) return this.#refuse('OVERLOADED')
    if (this.dialer.state !== 'ready') return this.#refuse('NOT_CONNECTED')
    const callId = this.#nextCallId()
    this.#calls.push({ ...call, callId })
    return new Promise((resolve, reject) => {
      this.#waiting.set(callId, { startedAt: this.#clock.monotonic(), resolve, reject })
      this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS)
      this.#batcher.added(CALL_BYTES)
    })
  }

  #flush(): void {
    const calls = this.#calls
    this.#calls = []
    this.#metrics.frames.inc()
    if (this.dialer.send(KIND.reserve, calls[0]?.callId ?? 0, encodeLedgerCalls(calls))) return
    const code = this.dialer.state === 'ready' ? 'OVERLOADED' : 'NOT_CONNECTED'
    for (const { callId } of calls) this.#fail(callId, code)
  }

  #onReplies(body: Uint8Array): void {
    const now = this.#clock.monotonic()
    for (const reply of decodeLedgerReplies(body)) {
      const waiting = this.#waiting.get(reply.callId)
      if (waiting === undefined) {
        this.#metrics.late.inc()
        continue
      }
      this.#waiting.delete(reply.callId)
      this.#metrics.seconds.observe((now - waiting.startedAt) / 1000)
      waiting.resolve(reply)
    }
  }

  /** Calls stand in the map in the order of their start: the first that is in time ends the sweep. */
  #sweep(): void {
    const oldest = this.#clock.monotonic() - this.#settings.deadlineMs
    if (this.#waiting.size === 0) {
      clearInterval(this.#sweeper)
      this.#sweeper = undefined
    }
    for (const [callId, { startedAt }] of this.#waiting) {
      if (startedAt > oldest) return
      this.#fail(callId, 'TIMEOUT')
    }
  }

  #failAll(code: LedgerFault['code']): void {
    for (const callId of [...this.#waiting.keys()]) this.#fail(callId, code)
  }

  #fail(callId: number, code: LedgerFault['code']): void {
    const waiting = this.#waiting.get(callId)
    if (waiting === undefined) return
    this.#waiting.delete(callId)
    this.#metrics.faults[code].inc()
    waiting.reject(new LedgerFault(code, { address: this.#settings.address }))
  }

  #refuse(code: LedgerFault['code']): Promise<never> {
    this.#metrics.faults[code].inc()
    return Promise.reject(new LedgerFault(code, { address: this.#settings.address }))
  }

  /** 1 to 2^32 - 1, then again. */
  #nextCallId(): number {
    do this.#callId = this.#callId >= 0xffff_ffff ? 1 : this.#callId + 1
    while (this.#waiting.has(this.#callId))
    return this.#callId
  }
}

function declare(metrics: Metrics, role: string, waiting: ReadonlyMap<number, unknown>, callsMax: number) {
  const fault = (code: string) =>
    metrics.counter(`bigtap_${role}_ledger_faults_total`, 'ledger calls without a reply', { code })
  metrics.gauge(`bigtap_${role}_ledger_calls_depth`, 'ledger calls in flight', () => waiting.size)
  metrics.gauge(`bigtap_${role}_ledger_calls_capacity`, 'most ledger calls in flight', () => callsMax)
  return {
    seconds: metrics.histogram(`bigtap_${role}_ledger_call_seconds`, 'from a ledger call to its reply'),
    frames: metrics.counter(`bigtap_${role}_ledger_frames_total`, 'frames of merged ledger calls'),
    late: metrics.counter(`bigtap_${role}_ledger_late_total`, 'replies to calls that were given up'),
    faults: {
      OVERLOADED: fault('OVERLOADED'),
      NOT_CONNECTED: fault('NOT_CONNECTED'),
      TIMEOUT: fault('TIMEOUT'),
      LINK_LOST: fault('LINK_LOST'),
    },
  }
}
