/** For tests: verdicts, an engine that says what it is told to say, and a board in memory. */

import { type AbuseVerdict, subjectOf } from '@bigtap/domain'
import { type AccessColumns, AccessColumns as Columns, encodeAccessBatch } from '@bigtap/protocol'
import type { Engine } from '../abuse-judge.ts'

let ids = 0

/** A verdict about uid 7, for a minute. */
export function verdictOf(more: Partial<AbuseVerdict> = {}): AbuseVerdict {
  const at = more.at ?? 1_000
  const id = (++ids).toString(16).padStart(16, '0')
  const plain = { kind: 'uid', key: '7', tier: 4, reason: 'too fast', score: 0.9, isShadow: false } as const
  return { id, ...plain, at, expiresAt: at + 60_000, by: 'antiblack', ...more }
}

/** An operator's word that the one before is over. */
export function liftOf(more: Partial<AbuseVerdict> = {}): AbuseVerdict {
  const at = more.at ?? 2_000
  return verdictOf({ tier: 0, score: 0, reason: 'a regular', by: 'ada', at, expiresAt: at, ...more })
}

/** A record of the request log. */
export function recordOf({
  at,
  uids,
  address = '10.0.0.1',
}: {
  at: number
  uids: number[]
  address?: string
}): Uint8Array {
  const columns: AccessColumns = new Columns(uids.length)
  columns.nodeId = 'limiter-1'
  columns.at = at
  columns.rows = uids.length
  columns.addresses.push(address)
  for (const [row, uid] of uids.entries()) {
    columns.uid[row] = uid
    columns.activityId[row] = 1
    columns.skuId[row] = 1
    columns.call[row] = 1
    columns.outcome[row] = 2
  }
  return encodeAccessBatch(columns)
}

/** Condemns every uid once, as soon as it was seen; remembers what it was told. */
export class ScriptedEngine implements Engine {
  readonly counters = { outOfTime: 0, dropped: 0 }
  readonly bytes = 0
  readonly seen: number[] = []
  readonly forgotten: string[] = []
  readonly inForce = new Map<string, AbuseVerdict>()
  rules = 0
  /** Uids that it leaves alone. */
  isGood = (uid: number): boolean => uid < 100
  #next: AbuseVerdict[] = []

  get size(): number {
    return this.seen.length
  }

  configure(rules: { readonly version: number }): void {
    this.rules = rules.version
  }

  observe({ rows, uid, at }: AccessColumns): void {
    for (let row = 0; row < rows; row++) {
      const one = uid[row] ?? 0
      this.seen.push(one)
      const verdict = verdictOf({ key: `${one}`, at, expiresAt: at + 600_000 })
      if (this.isGood(one) || this.inForce.has(subjectOf(verdict))) continue
      this.inForce.set(subjectOf(verdict), verdict)
      this.#next.push(verdict)
    }
  }

  /** Says something more at the next tick. */
  willSay(...verdicts: AbuseVerdict[]): void {
    this.#next.push(...verdicts)
  }

  tick(): AbuseVerdict[] {
    return this.#next.splice(0)
  }

  explain(subject: { readonly kind: string; readonly key: string }) {
    const verdict = this.inForce.get(`${subject.kind}:${subject.key}`)
    return { features: { asks: 9 }, contributions: [], rules: ['hasty'], score: 0.9, verdict }
  }

  forget(subject: { readonly kind: string; readonly key: string }): boolean {
    this.forgotten.push(`${subject.kind}:${subject.key}`)
    return this.inForce.delete(`${subject.kind}:${subject.key}`)
  }

  restore(active: readonly AbuseVerdict[]): void {
    for (const verdict of active) this.inForce.set(subjectOf(verdict), verdict)
  }
}
