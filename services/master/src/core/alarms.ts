/**
 * What an operator has to know: alarms by key, each with its life.
 *
 * ```
 *   (none) ─raise─► firing ─clear─► cleared ─raise─► firing (since and acknowledgement begin anew, the count goes on)
 *                     └ raise again: the same alarm, its message and data are the newest
 * ```
 */

/** How bad it is. */
export type Severity = 'info' | 'warning' | 'critical'

/** What is raised. The key names one thing: `clock:limiter-1`, `opening:7`; data says which values. */
export interface NewAlarm {
  readonly key: string
  readonly severity: Severity
  readonly message: string
  readonly data?: Readonly<Record<string, unknown>>
}

/** An alarm as operators see it. Times are ms since the epoch; `count` is how often it began. */
export interface Alarm extends Required<NewAlarm> {
  readonly state: 'firing' | 'cleared'
  readonly since: number
  readonly lastAt: number
  readonly clearedAt: number | undefined
  readonly count: number
  /** Who has seen it, since it began. */
  readonly acknowledgedBy: string | undefined
  readonly silencedUntil: number
}

/** Told when an alarm begins and when it is cleared; not for what is raised again meanwhile. */
export type AlarmListener = (alarm: Alarm) => void

/** Alarms that are kept; the oldest that is cleared falls first, then the oldest. */
export const ALARMS_MAX = 1_000

/** The register. */
export class Alarms {
  readonly #alarms = new Map<string, Alarm>()
  readonly #listeners: AlarmListener[] = []
  readonly #alarmsMax: number
  #dropped = 0

  constructor({ alarmsMax = ALARMS_MAX }: { alarmsMax?: number } = {}) {
    this.#alarmsMax = alarmsMax
  }

  /** Firing alarms that fell at the limit. */
  get dropped(): number {
    return this.#dropped
  }

  get firing(): number {
    return this.list().filter(({ state }) => state === 'firing').length
  }

  /** Adds a listener. */
  onChange(listener: AlarmListener): void {
    this.#listeners.push(listener)
  }

  raise({ key, severity, message, data = {} }: NewAlarm, now: number): void {
    const known = this.#alarms.get(key)
    if (known?.state === 'firing') {
      this.#alarms.set(key, { ...known, severity, message, data, lastAt: now })
      return
    }
    if (known === undefined && this.#alarms.size >= this.#alarmsMax) this.#makeRoom()
    const life = { since: now, lastAt: now, clearedAt: undefined, count: (known?.count ?? 0) + 1 }
    const silencedUntil = known?.silencedUntil ?? 0
    this.#put({ key, severity, message, data, ...life, state: 'firing', acknowledgedBy: undefined, silencedUntil })
  }

  /** It is over; an alarm that is not firing stays as it is. */
  clear(key: string, now: number): void {
    const known = this.#alarms.get(key)
    if (known?.state === 'firing') this.#put({ ...known, state: 'cleared', lastAt: now, clearedAt: now })
  }

  /** Raises or clears, as the fact stands. */
  set(isTrue: boolean, alarm: NewAlarm, now: number): void {
    if (isTrue) this.raise(alarm, now)
    else this.clear(alarm.key, now)
  }

  /** Somebody has seen it; false when there is no such alarm. */
  acknowledge(key: string, by: string): boolean {
    return this.#change(key, { acknowledgedBy: by })
  }

  /** Nobody is told of it until then; false when there is no such alarm. */
  silence(key: string, until: number): boolean {
    return this.#change(key, { silencedUntil: until })
  }

  get(key: string): Alarm | undefined {
    return this.#alarms.get(key)
  }

  /** All that are kept, the firing first, then the newest first. */
  list(): Alarm[] {
    return [...this.#alarms.values()].sort(
      (a, b) => Number(b.state === 'firing') - Number(a.state === 'firing') || b.since - a.since,
    )
  }

  #put(alarm: Alarm): void {
    this.#alarms.delete(alarm.key) // the map is in order of the last change
    this.#alarms.set(alarm.key, alarm)
    for (const listener of this.#listeners) listener(alarm)
  }

  #change(key: string, change: Partial<Alarm>): boolean {
    const known = this.#alarms.get(key)
    if (known === undefined) return false
    this.#alarms.set(key, { ...known, ...change })
    return true
  }

  #makeRoom(): void {
    const all = [...this.#alarms.values()]
    const falls = all.find(({ state }) => state === 'cleared') ?? all[0]
    if (falls?.state === 'firing') this.#dropped++
    if (falls !== undefined) this.#alarms.delete(falls.key)
  }
}
