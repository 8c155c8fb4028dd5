import type { Clock } from '@bigtap/kernel'
import { decodeError, KIND, type Kind } from '@bigtap/protocol'
import type { Dialer } from './dialer.ts'
import type { Link } from './link.ts'
import { TransportError } from './transport-error.ts'

/** Bounds of the calls in flight. */
export interface CallTableSettings {
  /** Calls in flight; one more is refused with OVERLOADED. */
  callsMax?: number
  /** How often deadlines are looked at; a call times out at most this much late. */
  sweepMs?: number
}

interface Call {
  link: Link
  deadline: number
  resolve(body: Uint8Array): void
  reject(error: TransportError): void
}

/**
 * Calls in flight, by correlation: one promise each, for the calls that are rare (a batch, not an ask). One timer looks
 * at all deadlines and runs only while calls are in flight.
 */
export class CallTable {
  readonly #callsMax: number
  readonly #sweepMs: number
  readonly #clock: Clock
  readonly #calls = new Map<number, Call>()
  #correlation = 0
  #late = 0
  #timer: NodeJS.Timeout | undefined

  constructor(settings: CallTableSettings, parts: { clock: Clock }) {
    this.#callsMax = settings.callsMax ?? 4_096
    this.#sweepMs = settings.sweepMs ?? 10
    this.#clock = parts.clock
  }

  get inFlight(): number {
    return this.#calls.size
  }

  /** Replies that came after their call was over. */
  get late(): number {
    return this.#late
  }

  /**
   * Sends a frame and waits for the frame with the same correlation. The reply's body is a copy that may be kept.
   * Rejects with a TransportError: CALL_TIMEOUT and LINK_LOST mean that the outcome is unknown.
   */
  call(target: Dialer | Link, kind: Kind, body: Uint8Array, { timeoutMs }: { timeoutMs: number }): Promise<Uint8Array> {
    const link = 'address' in target ? target.link : target
    if (link === undefined) return failed('NOT_CONNECTED', 'peer is not connected', { kind })
    if (this.#calls.size >= this.#callsMax) return failed('OVERLOADED', `calls exceed ${this.#callsMax}`, { kind })
    const correlation = this.#nextCorrelation()
    if (!target.send(kind, correlation, body)) {
      const code = target.state === 'ready' ? 'OVERLOADED' : 'NOT_CONNECTED'
      return failed(code, 'frame was not sent', { kind, node: link.nodeId, unsentBytes: link.unsentBytes })
    }
    return new Promise((resolve, reject) => {
      this.#calls.set(correlation, { link, deadline: this.#clock.monotonic() + timeoutMs, resolve, reject })
      this.#timer ??= setInterval(() => this.#sweep(), this.#sweepMs)
    })
  }

  /** For the owner's onFrame: takes the frame when it answers a call. A late one is counted, never mistaken. */
  onFrame(link: Link, kind: Kind, correlation: number, body: Uint8Array): boolean {
    const call = this.#calls.get(correlation)
    if (call === undefined || call.link !== link) {
      this.#late++
      return false
    }
    if (kind === KIND.error) {
      const error = decodeError(body)
      this.#take(correlation)
      call.reject(new TransportError('REMOTE_ERROR', error.message, { remoteCode: error.code, node: link.nodeId }))
    } else {
      this.#take(correlation)
      call.resolve(Uint8Array.from(body))
    }
    return true
  }

  /** For the owner's onClose: all calls of that link are over, their outcome is unknown. */
  onClose(link: Link): void {
    for (const [correlation, call] of this.#calls) {
      if (call.link !== link) continue
      this.#take(correlation)
      call.reject(new TransportError('LINK_LOST', 'link was lost before the reply', { node: link.nodeId }))
    }
  }

  /** Ends all calls with STOPPED. */
  stop(): void {
    for (const [correlation, call] of this.#calls) {
      this.#take(correlation)
      call.reject(new TransportError('STOPPED', 'calls were stopped', { node: call.link.nodeId }))
    }
  }

  #sweep(): void {
    const now = this.#clock.monotonic()
    for (const [correlation, call] of this.#calls) {
      if (now < call.deadline) continue
      this.#take(correlation)
      call.reject(new TransportError('CALL_TIMEOUT', 'no reply in time', { node: call.link.nodeId }))
    }
  }

  #take(correlation: number): void {
    this.#calls.delete(correlation)
    if (this.#calls.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** 1 to 2^32 - 1, then again; 0 means "no reply wanted". */
  #nextCorrelation(): number {
    do this.#correlation = this.#correlation >= 0xffff_ffff ? 1 : this.#correlation + 1
    while (this.#calls.has(this.#correlation))
    return this.#correlation
  }
}

function failed(code: 'NOT_CONNECTED' | 'OVERLOADED', message: string, data: Record<string, unknown>): Promise<never> {
  return Promise.reject(new TransportError(code, message, data))
}
