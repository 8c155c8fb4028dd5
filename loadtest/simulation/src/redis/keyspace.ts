/** What a Redis server holds, by type. Only what the scripts and the store package use. */

/** An entry of a stream. */
export interface StreamEntry {
  readonly id: string
  readonly fields: readonly string[]
}

/** A keyspace: synchronous, ordered as Redis orders (sorted sets by score, then by member). */
export class Keyspace {
  readonly strings = new Map<string, string>()
  readonly hashes = new Map<string, Map<string, string>>()
  readonly sets = new Map<string, Set<string>>()
  readonly sortedSets = new Map<string, Map<string, number>>()
  readonly lists = new Map<string, string[]>()
  readonly streams = new Map<string, StreamEntry[]>()
  /** The newest id that a stream ever gave: none comes twice, even when it has become empty. */
  readonly lastIds = new Map<string, string>()
  /** When a string ends, ms. */
  readonly ends = new Map<string, number>()

  get(key: string, now: number): string | null {
    const end = this.ends.get(key)
    if (end !== undefined && end <= now) this.del(key)
    return this.strings.get(key) ?? null
  }

  set(key: string, value: string, end?: number): void {
    this.strings.set(key, value)
    if (end === undefined) this.ends.delete(key)
    else this.ends.set(key, end)
  }

  hget(key: string, field: string): string | null {
    return this.hashes.get(key)?.get(field) ?? null
  }

  hset(key: string, ...pairs: string[]): void {
    const hash = this.hashes.get(key) ?? new Map<string, string>()
    this.hashes.set(key, hash)
    for (let at = 0; at < pairs.length; at += 2) hash.set(pairs[at] as string, pairs[at + 1] as string)
  }

  hdel(key: string, field: string): boolean {
    const hash = this.hashes.get(key)
    const isDone = hash?.delete(field) ?? false
    if (hash?.size === 0) this.hashes.delete(key)
    return isDone
  }

  hincrby(key: string, field: string, by: number): number {
    const next = Number(this.hget(key, field) ?? 0) + by
    this.hset(key, field, String(next))
    return next
  }

  sadd(key: string, member: string): boolean {
    const set = this.sets.get(key) ?? new Set<string>()
    this.sets.set(key, set)
    const isNew = !set.has(member)
    set.add(member)
    return isNew
  }

  zadd(key: string, score: number, member: string): void {
    const set = this.sortedSets.get(key) ?? new Map<string, number>()
    this.sortedSets.set(key, set)
    set.set(member, score)
  }

  zscore(key: string, member: string): number | undefined {
    return this.sortedSets.get(key)?.get(member)
  }

  zrem(key: string, member: string): boolean {
    const set = this.sortedSets.get(key)
    const isDone = set?.delete(member) ?? false
    if (set?.size === 0) this.sortedSets.delete(key)
    return isDone
  }

  /** Members with min < or = score <= max, in order. */
  zrange(key: string, { min = -Infinity, max = Infinity, isAbove = false, limit = Infinity } = {}): string[] {
    const found = [...(this.sortedSets.get(key) ?? [])].filter(
      ([, score]) => score <= max && (isAbove ? score > min : score >= min),
    )
    found.sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
    return found.slice(0, limit).map(([member]) => member)
  }

  rpush(key: string, value: string): void {
    const list = this.lists.get(key)
    if (list === undefined) this.lists.set(key, [value])
    else list.push(value)
  }

  xadd(key: string, now: number, fields: readonly string[]): void {
    const stream = this.streams.get(key) ?? []
    this.streams.set(key, stream)
    const [ms = 0, seq = 0] = (this.lastIds.get(key) ?? '0-0').split('-').map(Number)
    const at = Math.max(Math.floor(now), ms)
    const id = `${at}-${at === ms ? seq + 1 : 0}`
    this.lastIds.set(key, id)
    stream.push({ id, fields })
  }

  /** Drops what is older than an id; returns how many. */
  xtrim(key: string, minId: string): number {
    const stream = this.streams.get(key) ?? []
    const kept = stream.filter(({ id }) => compareIds(id, minId) >= 0)
    if (kept.length < stream.length) this.streams.set(key, kept)
    return stream.length - kept.length
  }

  del(key: string): boolean {
    this.ends.delete(key)
    this.lastIds.delete(key)
    const kinds = [this.strings, this.hashes, this.sets, this.sortedSets, this.lists, this.streams]
    return kinds.map((kind) => kind.delete(key)).includes(true)
  }

  clear(): void {
    const kinds = [
      this.strings,
      this.hashes,
      this.sets,
      this.sortedSets,
      this.lists,
      this.streams,
      this.ends,
      this.lastIds,
    ]
    for (const kind of kinds) kind.clear()
  }

  /** A copy that shares nothing with this one: what a replica has. */
  clone(): Keyspace {
    const copy = new Keyspace()
    for (const [key, value] of this.strings) copy.strings.set(key, value)
    for (const [key, value] of this.ends) copy.ends.set(key, value)
    for (const [key, value] of this.hashes) copy.hashes.set(key, new Map(value))
    for (const [key, value] of this.sets) copy.sets.set(key, new Set(value))
    for (const [key, value] of this.sortedSets) copy.sortedSets.set(key, new Map(value))
    for (const [key, value] of this.lists) copy.lists.set(key, [...value])
    for (const [key, value] of this.streams) copy.streams.set(key, [...value])
    for (const [key, value] of this.lastIds) copy.lastIds.set(key, value)
    return copy
  }
}

/** Compares two stream ids, `ms-seq`. */
export function compareIds(a: string, b: string): number {
  const [aMs = 0, aSeq = 0] = a.split('-').map(Number)
  const [bMs = 0, bSeq = 0] = b.split('-').map(Number)
  return aMs - bMs || aSeq - bSeq
}
