/** One run of a ledger script over a model of Redis: what scripts/prelude.lua, guarded, fenced, settle and leases say. */

import type { Keyspace } from './keyspace.ts'

/** Checks that the simulator can leave out, to prove that it would notice. Never in the product. */
export interface Omissions {
  /** Whoever comes with an old fence is served all the same. */
  readonly fencing: boolean
  /** A token that made an order makes another one. */
  readonly idempotency: boolean
  /** Grants are taken from whoever brings them, whoever owns the slot. */
  readonly slotOwner: boolean
  /** Grants are taken for whoever is named, whether it is his turn or not. */
  readonly turns: boolean
}

/** Nothing is left out. */
export const NO_OMISSIONS: Omissions = { fencing: false, idempotency: false, slotOwner: false, turns: false }

/** A refusal of a script, as Redis says it. */
export class ScriptRefusal extends Error {
  override readonly name = 'ScriptRefusal'
}

/** Figures of a SKU while a script runs. */
export interface SkuRow {
  isChanged: boolean
  stock: number
  free: number
  held: number
  sold: number
  quota: number
  pool: number
  leased: number
  outstanding: number
  redeemed: number
  reservedTotal: number
  deadTotal: number
  limit: number
  price: number
  holdMs: number
}

/** The counts of a SKU, in the order of the scripts. */
export const COUNTS = [
  'stock',
  'free',
  'held',
  'sold',
  'quota',
  'pool',
  'leased',
  'outstanding',
  'redeemed',
  'reservedTotal',
  'deadTotal',
] as const

/** Outcomes of the verbs. */
export const CODE = { ok: 1, repeated: 2, soldOut: 3, rule: 4, expired: 5, notFound: 6, wrongState: 7 } as const

/** What a script has at hand. */
export class ScriptCall {
  readonly keys: Keyspace
  readonly args: readonly string[]
  readonly now: number
  readonly omit: Omissions
  readonly meta: string
  readonly root: string
  readonly guard: string | null
  readonly #skus = new Map<string, SkuRow | undefined>()

  constructor(keys: Keyspace, key: string, args: readonly string[], { now, omit }: { now: number; omit: Omissions }) {
    this.keys = keys
    this.args = args
    this.now = Math.floor(now)
    this.omit = omit
    this.meta = key
    this.root = key.slice(0, -4)
    this.guard = keys.hget(key, 'guard')
  }

  arg(at: number): string {
    return this.args[at] ?? ''
  }

  number(at: number): number {
    return Number(this.args[at])
  }

  key(name: string): string {
    return this.root + name
  }

  /** scripts/guarded.lua */
  checkGuard(): void {
    if (this.guard !== this.args[0]) throw new ScriptRefusal(`STALE_GUARD ${this.guard ?? 'false'}`)
  }

  /** scripts/fenced.lua; returns the holder. */
  checkFence(): string {
    const [, node = '', fence = ''] = this.args
    const isOwn = this.keys.hget(this.meta, `fence:${node}`) === fence
    if (!isOwn && !this.omit.fencing) throw new ScriptRefusal(`STALE_FENCE ${node} ${fence}`)
    return `${node}|${fence}`
  }

  sku(id: string): SkuRow | undefined {
    if (this.#skus.has(id)) return this.#skus.get(id)
    const hash = this.keys.hashes.get(`${this.root}sku:${id}`)
    const read = (name: string) => Number(hash?.get(name))
    const row =
      hash?.has('stock') === true
        ? {
            ...(Object.fromEntries(COUNTS.map((name) => [name, read(name)])) as unknown as SkuRow),
            isChanged: false,
            limit: read('limit'),
            price: read('price'),
            holdMs: read('holdMs'),
          }
        : undefined
    this.#skus.set(id, row)
    return row
  }

  saveSkus(): void {
    for (const [id, row] of this.#skus)
      if (row?.isChanged)
        this.keys.hset(`${this.root}sku:${id}`, ...COUNTS.flatMap((name) => [name, String(row[name])]))
  }

  /** The rows that the script changed. */
  changed(): ReadonlyMap<string, SkuRow> {
    const rows = new Map<string, SkuRow>()
    for (const [id, row] of this.#skus) if (row?.isChanged) rows.set(id, row)
    return rows
  }

  emit(events: readonly string[]): void {
    if (events.length > 0) this.keys.xadd(this.key('outbox'), this.now, ['e', events.join('\n')])
  }

  /** scripts/leases.lua */
  giveBackLease(holder: string): void {
    for (const [id, count] of this.keys.hashes.get(this.key(`lease:${holder}`)) ?? []) {
      const row = this.sku(id)
      if (row === undefined) continue
      row.leased -= Number(count)
      row.pool += Number(count)
      row.isChanged = true
      const key = this.key(`sku:${id}`)
      const back = Number(this.keys.hget(key, 'paceBack') ?? 0) + Number(count)
      if (this.keys.hget(key, 'paceAt') !== null) this.keys.hset(key, 'paceBack', String(back))
    }
    this.keys.del(this.key(`lease:${holder}`))
    this.keys.zrem(this.key('leases'), holder)
  }

  /** scripts/settle.lua: outcome, record and, when something changed, the event. */
  settle(orderId: string, state: string, isForced = false): { code: number; record: string; event?: string } {
    const record = this.keys.hget(this.key('orders'), orderId)
    if (record === null) return { code: CODE.notFound, record: '' }
    const parts = record.split('|')
    if (parts[0] === state) return { code: CODE.repeated, record }
    if (parts[0] !== 'held') return { code: CODE.wrongState, record }
    if (state === 'expired' && !isForced && Number(parts[8]) > this.now) return { code: CODE.wrongState, record }
    const row = this.sku(parts[1] as string)
    if (row === undefined) throw new ScriptRefusal(`ERR order ${orderId} of no sku`)
    const quantity = Number(parts[3])
    row.held -= quantity
    if (state === 'paid') row.sold += quantity
    else this.#giveBack(row, parts, quantity)
    row.isChanged = true
    parts[0] = state
    parts[5] = String(Number(parts[5]) + 1)
    parts[9] = String(this.now)
    const next = parts.join('|')
    this.keys.hset(this.key('orders'), orderId, next)
    return { code: CODE.ok, record: next, event: `${orderId}|${next}` }
  }

  #giveBack(row: SkuRow, [, skuId, uid]: readonly string[], quantity: number): void {
    row.free += quantity
    row.redeemed -= quantity
    row.pool += quantity
    const buyers = this.key('buyers')
    this.keys.hincrby(buyers, `${uid}:${skuId}`, -quantity)
    if (this.keys.hget(buyers, uid as string) !== null) this.keys.hincrby(buyers, uid as string, -quantity)
  }
}

/** A number as Lua 5.1 prints it (%.14g). */
export function luaText(value: number): string {
  const rounded = Number(value.toPrecision(14))
  const exponent = rounded === 0 ? 0 : Math.floor(Math.log10(Math.abs(rounded)))
  if (exponent >= -4 && exponent < 14) return String(rounded)
  return rounded.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
}
