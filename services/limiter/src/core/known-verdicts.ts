/** The verdicts about abuse that this process knows: looked up for every request, bounded, forgotten when they run out. */

import { type AbuseVerdict, SUBJECT_KINDS, type SubjectKind, type Tier } from '@bigtap/domain'
import type { VerdictBook } from './ports.ts'

/** An address, a subnet or a device stands for many buyers: what is said of one grades them at most so. */
const SHARED_TIER_MAX: Tier = 4

/** What a look-up needs lies here, so that it meets one shape of object, wherever a verdict came from. */
class Entry {
  readonly verdict: AbuseVerdict
  readonly expiresAt: number
  /** That counts: of an address, a subnet or a device at most 4. */
  readonly tier: Tier
  readonly isShadow: boolean
  /** Of the reading of the board in which it was heard. */
  readonly round: number

  constructor(verdict: AbuseVerdict, round: number) {
    const { kind, tier, expiresAt, isShadow } = verdict
    this.verdict = verdict
    this.expiresAt = expiresAt
    this.tier = kind === 'uid' || tier < SHARED_TIER_MAX ? tier : SHARED_TIER_MAX
    this.isShadow = isShadow
    this.round = round
  }
}

/**
 * ```
 *   uid     7 ─► verdict        each look-up is one Map.get per kind that is known at all:
 *   ip      203.0.113.7 ─► …    no object is made
 *   subnet  203.0.113 ─► …
 *   device  17 … ─► …           expired: no longer seen at once, removed by the sweep a few at a time
 * ```
 * A reading of the whole board stands between `beginReload` and `endReload`: what was not heard in it is gone.
 */
export class KnownVerdicts implements VerdictBook {
  readonly capacity: number
  readonly #byKind: Readonly<Record<SubjectKind, Map<string | number, Entry>>> = {
    uid: new Map(),
    ip: new Map(),
    subnet: new Map(),
    device: new Map(),
  }
  #round = 0
  /** Entries of earlier readings than this one are void. */
  #validFrom = 0
  #shadowHits = 0
  #refused = 0
  #sweeping: { kind: number; entries: IterableIterator<[string | number, Entry]> } | undefined

  /** `verdictsMax`: of all kinds together; one more is refused and counted, and the buyer is graded without it. */
  constructor({ verdictsMax }: { verdictsMax: number }) {
    this.capacity = verdictsMax
  }

  /** Verdicts that are remembered, those that ran out and were not swept yet among them. */
  get size(): number {
    const { uid, ip, subnet, device } = this.#byKind
    return uid.size + ip.size + subnet.size + device.size
  }

  /** Look-ups that found a verdict in shadow mode. */
  get shadowHits(): number {
    return this.#shadowHits
  }

  /** Verdicts that were not remembered, because there were too many. */
  get refused(): number {
    return this.#refused
  }

  /** Takes a verdict: it replaces the one before about its subject; one that is over, or lifts, ends it. */
  apply(verdict: AbuseVerdict, now: number): void {
    const known = this.#byKind[verdict.kind]
    const key = keyOf(verdict)
    if (verdict.expiresAt <= verdict.at || verdict.expiresAt <= now) known.delete(key)
    else if (this.size < this.capacity || known.has(key)) known.set(key, new Entry(verdict, this.#round))
    else this.#refused++
  }

  /** The worst tier that is said of any of these; of an address, a subnet or a device at most 4. In shadow mode nothing is said. */
  tierOf(uid: number, address: string, subnet: string, device: number, now: number): Tier {
    const known = this.#byKind
    let tier: Tier = 0
    if (uid !== 0 && known.uid.size > 0) tier = this.#tierIn(known.uid.get(uid), now)
    if (known.ip.size > 0) tier = worse(tier, this.#tierIn(known.ip.get(address), now))
    if (known.subnet.size > 0) tier = worse(tier, this.#tierIn(known.subnet.get(subnet), now))
    if (device !== 0 && known.device.size > 0) tier = worse(tier, this.#tierIn(known.device.get(device), now))
    return tier
  }

  /** What is said of a buyer, in shadow mode too. */
  verdictOf(uid: number, now: number): AbuseVerdict | undefined {
    const entry = this.#byKind.uid.get(uid)
    return entry !== undefined && this.#isInForce(entry, now) ? entry.verdict : undefined
  }

  /** From here on the whole board is read. */
  beginReload(): void {
    this.#round++
  }

  /** The whole board was read: what it did not hold is void. */
  endReload(): void {
    this.#validFrom = this.#round
  }

  /** Removes what is over among the next entries, at most `entriesMax` of them looked at. */
  sweep(now: number, entriesMax: number): void {
    for (let looked = 0; looked < entriesMax; looked++) {
      this.#sweeping ??= { kind: 0, entries: this.#byKind.uid.entries() }
      const { kind, entries } = this.#sweeping
      const next = entries.next()
      if (!next.done) {
        const [key, entry] = next.value
        if (!this.#isInForce(entry, now)) this.#byKind[SUBJECT_KINDS[kind] ?? 'uid'].delete(key)
        continue
      }
      const following = SUBJECT_KINDS[kind + 1]
      this.#sweeping = following && { kind: kind + 1, entries: this.#byKind[following].entries() }
      if (following === undefined) return
    }
  }

  #tierIn(entry: Entry | undefined, now: number): Tier {
    if (entry === undefined || !this.#isInForce(entry, now)) return 0
    if (!entry.isShadow) return entry.tier
    this.#shadowHits++
    return 0
  }

  #isInForce(entry: Entry, now: number): boolean {
    return now < entry.expiresAt && entry.round >= this.#validFrom
  }
}

function worse(one: Tier, other: Tier): Tier {
  return one > other ? one : other
}

function keyOf({ kind, key }: AbuseVerdict): string | number {
  if (kind === 'uid') return Number(key)
  return kind === 'device' ? Number.parseInt(key, 16) : key
}
