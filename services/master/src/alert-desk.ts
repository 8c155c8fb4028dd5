/** What operators do with alarms: see them, acknowledge them, silence them. Silences outlive the leader. */

import type { Db } from '@bigtap/db'
import { Fields } from '@bigtap/domain'
import type { Clock } from '@bigtap/kernel'
import type { Alarm, Alarms } from './core/alarms.ts'
import { Problem } from './http/edge.ts'
import type { Actor } from './http/session.ts'
import { entryOf, unwrap } from './sale-desk.ts'

/** Collaborators. */
export interface AlertDeskParts {
  readonly alarms: Alarms
  readonly clock: Clock
  readonly db: Pick<Db, 'definitions' | 'audit'>
}

/** Bounds of silences; at the limit one more is refused. */
export const SILENCE_LIMITS = { silencesMax: 500, secondsMax: 604_800 } as const

const SILENCES_SETTING = 'alarms.silences'

/** The desk. */
export class AlertDesk {
  readonly #parts: AlertDeskParts
  #silences = new Map<string, number>()

  constructor(parts: AlertDeskParts) {
    this.#parts = parts
  }

  /** Takes the silences of the leader before. Rejects when PostgreSQL is away. */
  async load(): Promise<void> {
    const value = await this.#parts.db.definitions.getSetting(SILENCES_SETTING)
    const entries = typeof value === 'object' && value !== null ? Object.entries(value) : []
    this.#silences = new Map(entries.flatMap(([key, until]) => (typeof until === 'number' ? [[key, until]] : [])))
  }

  /** An alarm that was silenced before it was raised is silenced. */
  onChange({ key, silencedUntil }: Alarm): void {
    const until = this.#silences.get(key) ?? 0
    if (until > this.#parts.clock.now() && until !== silencedUntil) this.#parts.alarms.silence(key, until)
  }

  /** All that are kept, or the firing ones. */
  list(onlyFiring: boolean): Alarm[] {
    return this.#parts.alarms.list().filter(({ state }) => !onlyFiring || state === 'firing')
  }

  async acknowledge(actor: Actor, key: string): Promise<Alarm> {
    const before = this.#get(key)
    await this.#audit(actor, 'alert.acknowledge', key, { acknowledgedBy: before.acknowledgedBy })
    this.#parts.alarms.acknowledge(key, actor.name)
    return this.#get(key)
  }

  /** Nobody is told of it for some seconds; 0 ends a silence. */
  async silence(actor: Actor, key: string, input: Readonly<Record<string, unknown>>): Promise<Alarm> {
    const { alarms, clock, db } = this.#parts
    const fields = new Fields(input)
    const seconds = fields.number('seconds', { min: 0, max: SILENCE_LIMITS.secondsMax })
    unwrap(fields.done({}))
    const before = this.#get(key)
    const now = clock.now()
    for (const [known, until] of this.#silences) if (until <= now) this.#silences.delete(known)
    if (this.#silences.size >= SILENCE_LIMITS.silencesMax && !this.#silences.has(key)) throw new Problem('overloaded')
    const until = now + seconds * 1_000
    await this.#audit(actor, 'alert.silence', key, { silencedUntil: before.silencedUntil }, { silencedUntil: until })
    this.#silences.set(key, until)
    alarms.silence(key, until)
    await db.definitions.setSetting(SILENCES_SETTING, Object.fromEntries(this.#silences))
    return this.#get(key)
  }

  #get(key: string): Alarm {
    const alarm = this.#parts.alarms.get(key)
    if (alarm === undefined) throw new Problem('not_found', { detail: 'there is no such alert' })
    return alarm
  }

  async #audit(actor: Actor, action: string, key: string, before: unknown, after?: unknown): Promise<void> {
    await this.#parts.db.audit.append(entryOf(actor, action, `alert:${key}`, before, after))
  }
}
