/** What is wrong with the nodes: a clock that is off, documents that are not those of the catalog. */

import type { NewAlarm } from './alarms.ts'

/** What is looked at of a node. `clockOffsetMs` is undefined where no link has measured it. */
export interface HealthFact {
  readonly id: string
  readonly role: string
  readonly isLive: boolean
  readonly revision: number
  readonly digest: string
  readonly clockOffsetMs: number | undefined
  /** How far the measurement may be wrong. */
  readonly clockErrorMs: number | undefined
  /** Documents that it did not take, where a link told. */
  readonly refusals: readonly { readonly key: string; readonly error: string }[]
}

/** A fact of the register: the alarm, and whether it fires. */
export interface Finding {
  readonly isFiring: boolean
  readonly alarm: NewAlarm
}

/** Roles that follow the catalog. */
export const FRONT_ROLES: readonly string[] = ['limiter', 'middle', 'cart', 'counter', 'order']
/** Nodes' clocks may differ by this (3-sale-model); limiters open by their own. */
export const CLOCK_OFF_MS = 50
/** A node may lag behind the catalog this long: its poll, its beat and our look. */
export const LAG_MS = 1_500
/** A digest may differ this long. */
export const DIFFERS_MS = 1_000
const HEADS_MAX = 256
const REFUSALS_SHOWN = 5

interface Head {
  readonly revision: number
  readonly digest: string
}

/** Looks at all nodes against the catalog's newest and its history of the last seconds. */
export class NodeHealth {
  readonly #heads: (Head & { readonly since: number })[] = []
  readonly #differsSince = new Map<string, number>()
  readonly #known = new Set<string>()

  /** One look; `now` is monotonic. Nodes that are gone are said to be well. */
  look(now: number, { head, nodes }: { head: Head; nodes: readonly HealthFact[] }): Finding[] {
    this.#note(now, head)
    const fronts = nodes.filter(({ role, isLive }) => isLive && FRONT_ROLES.includes(role))
    const gone = [...this.#known].filter((id) => !fronts.some((node) => node.id === id))
    for (const id of gone) this.#known.delete(id)
    for (const { id } of fronts) this.#known.add(id)
    return [...fronts.flatMap((node) => this.#findingsOf(node, now)), ...gone.flatMap(healthy)]
  }

  #findingsOf(node: HealthFact, now: number): Finding[] {
    const { id, role, clockOffsetMs = 0, clockErrorMs = 0, revision, digest, refusals } = node
    const isOff = Math.abs(clockOffsetMs) - clockErrorMs > CLOCK_OFF_MS // a slow round trip tells little
    const due = this.#heads.findLast(({ since }) => now - since >= LAG_MS)?.revision ?? 0
    const lacks = this.#differs(node, now)
    return [
      finding(isOff, clockAlarm(id, { role, offsetMs: Math.round(clockOffsetMs) })),
      finding(
        lacks || revision < due,
        documentsAlarm(id, { role, revision, digest, due, refusals: refusals.slice(0, REFUSALS_SHOWN) }),
      ),
    ]
  }

  #differs({ id, revision, digest }: HealthFact, now: number): boolean {
    const head = this.#heads.find((one) => one.revision === revision)
    if (head === undefined || head.digest === '' || head.digest === digest) {
      this.#differsSince.delete(id)
      return false
    }
    const since = this.#differsSince.get(id) ?? now
    this.#differsSince.set(id, since)
    return now - since > DIFFERS_MS
  }

  #note(now: number, head: Head): void {
    const last = this.#heads.at(-1)
    if (last !== undefined && last.revision > head.revision) this.#heads.length = 0 // the catalog began anew
    if (last?.revision !== head.revision) this.#heads.push({ ...head, since: now })
    if (this.#heads.length > HEADS_MAX) this.#heads.shift()
  }
}

function healthy(id: string): Finding[] {
  return [finding(false, clockAlarm(id, {})), finding(false, documentsAlarm(id, {}))]
}

function finding(isFiring: boolean, alarm: NewAlarm): Finding {
  return { isFiring, alarm }
}

function clockAlarm(id: string, data: Record<string, unknown>): NewAlarm {
  return {
    key: `clock:${id}`,
    severity: 'warning',
    message: `the clock of ${id} is off by more than ${CLOCK_OFF_MS} ms`,
    data,
  }
}

function documentsAlarm(id: string, data: Record<string, unknown>): NewAlarm {
  return { key: `documents:${id}`, severity: 'critical', message: `${id} does not hold the newest documents`, data }
}
