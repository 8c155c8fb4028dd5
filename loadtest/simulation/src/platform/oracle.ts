/**
 * Knows what must be true, and looks after every script of the ledger and at every answer that a buyer gets.
 *
 * It hears what Redis did (not what anybody believes) and what buyers were told, and compares the two. What a failover made
 * Redis forget is excused only where the product does not promise it: see docs/SIMULATION.md.
 */

import { checkInvariants, type Figures } from '@bigtap/domain'
import type { Keyspace } from '../redis/keyspace.ts'
import type { ScriptRun } from '../redis/redis-model.ts'
import type { RedisHost } from '../world/redis-host.ts'
import { EPOCH_MS, type World } from '../world/world.ts'
import { LineOracle } from './line-oracle.ts'

/** A token that Redis has written or a buyer was told. */
interface KnownToken {
  readonly uid: number
  readonly skuId: number
  readonly expiresAt: number
  isForgotten: boolean
}

/** An order that a buyer was told. */
interface ToldOrder {
  readonly uid: number
  readonly skuId: number
  readonly quantity: number
  isPaid: boolean
}

const CODE_OK = 1
const AUDIT_EVERY = 200

/** Watches one run. */
export class Oracle {
  /** What came of what, for the summary. */
  readonly counts = {
    grants: 0,
    told: 0,
    orders: 0,
    paid: 0,
    refunds: 0,
    rebuilds: 0,
    failovers: 0,
    moves: 0,
    forgotten: 0,
  }
  /** With several, one may rebuild without what another remembers, and the unit may be gone before that one looks. */
  hasSeveralCounters = false
  readonly #unitless = new Set<string>()
  readonly told = new Map<string, ToldOrder>()
  readonly #world: World
  readonly #redis: RedisHost
  readonly #root: string
  readonly #limit: number
  readonly #isOneProduct: boolean
  readonly #written = new Map<string, KnownToken>()
  readonly #toldTokens = new Map<string, KnownToken>()
  readonly #byBuyer = new Map<string, string[]>()
  readonly #owners = new Map<string, string>()
  /** By order: which process brought it to Redis, and when. */
  readonly #made = new Map<string, { by: string; at: number }>()
  readonly #diedAt = new Map<string, number>()
  readonly #forgottenOrders = new Set<string>()
  readonly lines: LineOracle
  #scripts = 0

  constructor(
    { activityId, limit, isOneProduct }: { activityId: number; limit: number; isOneProduct: boolean },
    world: World,
    redis: RedisHost,
  ) {
    this.#world = world
    this.#redis = redis
    this.#root = `bt:{${activityId}}:`
    this.#limit = limit
    this.#isOneProduct = isOneProduct
    this.lines = new LineOracle({
      root: this.#root,
      keys: () => this.#keys,
      violate: (what) => this.#violate(what),
    })
    redis.model.onScript = (run) => this.#onScript(run)
  }

  get #keys(): Keyspace {
    return this.#redis.model.keys
  }

  /** A buyer was told a token. */
  onToken(tokenId: string, { uid, skuId, expiresAt }: { uid: number; skuId: number; expiresAt: number }): void {
    this.counts.told++
    const written = this.#written.get(tokenId)
    if (written === undefined) {
      this.#violate(`token ${tokenId} was told to ${uid} and is in no log`)
      return
    }
    if (written.uid !== uid || written.skuId !== skuId) {
      this.#violate(`token ${tokenId} of ${written.uid} was told to ${uid}`)
      return
    }
    if (this.#toldTokens.has(tokenId)) return
    this.#world.note(`buyer ${uid} is told token ${tokenId.slice(0, 8)} of sku ${skuId}`)
    this.#toldTokens.set(tokenId, written)
    const key = `${uid}:${skuId}`
    const own = this.#byBuyer.get(key) ?? []
    this.#byBuyer.set(key, own)
    const live = own.filter((other) => this.#isLive(other))
    if (live.length >= this.#limit && Number(expiresAt) > this.#now)
      this.#violate(`buyer ${uid} has ${live.length + 1} live tokens of sku ${skuId}: ${[...live, tokenId].join(' ')}`)
    own.push(tokenId)
  }

  /** A buyer was told an order. */
  onOrder(orderId: string, tokenId: string, order: { uid: number; skuId: number; quantity: number }): void {
    if (orderId !== `o${tokenId}`) this.#violate(`token ${tokenId} made order ${orderId}`)
    if (!this.#made.has(orderId)) this.#violate(`order ${orderId} was told and was never made`)
    if (!this.told.has(orderId)) this.told.set(orderId, { ...order, isPaid: false })
  }

  /** The payment provider was told that an order is paid. */
  onPaid(orderId: string): void {
    const order = this.told.get(orderId)
    if (order !== undefined && !order.isPaid) this.#world.note(`order ${orderId.slice(0, 9)} is paid`)
    if (order !== undefined) order.isPaid = true
    this.counts.paid++
  }

  /** Redis failed over: what it had and has no more. */
  onFailover(before: Keyspace, after: Keyspace): void {
    this.counts.failovers++
    const orders = (keys: Keyspace) => keys.hashes.get(`${this.#root}orders`) ?? new Map<string, string>()
    for (const orderId of orders(before).keys()) {
      if (orders(after).has(orderId)) continue
      this.#world.note(`order ${orderId.slice(0, 9)} is forgotten`)
      this.#forgottenOrders.add(orderId)
      this.counts.forgotten++
    }
    const logged = loggedTokens(after, this.#root)
    for (const tokenId of loggedTokens(before, this.#root)) {
      const token = this.#written.get(tokenId)
      if (token === undefined || logged.has(tokenId)) continue
      this.#world.note(`token ${tokenId.slice(0, 8)} of buyer ${token.uid} is forgotten`)
      token.isForgotten = true
    }
    this.lines.onFailover(after)
    this.#owners.clear()
    for (const [slot, owner] of after.hashes.get(`${this.#root}owners`) ?? [])
      this.#owners.set(slot, owner.split('|')[2] ?? '')
  }

  /** A process has died, and with it what it remembered. */
  onDeath(id: string): void {
    this.#diedAt.set(id, this.#world.now)
  }

  /** Was this order forgotten by a failover, and by the counter that made it, which has died since? */
  isForgotten(orderId: string): boolean {
    const made = this.#made.get(orderId)
    const isRemembered = made !== undefined && (this.#diedAt.get(made.by) ?? Number.NEGATIVE_INFINITY) < made.at
    const isTooLate = this.hasSeveralCounters && this.#unitless.has(orderId)
    return this.#forgottenOrders.has(orderId) && this.#order(orderId) === undefined && (!isRemembered || isTooLate)
  }

  /** Tokens that Redis has written and not forgotten. */
  *written(): Generator<string> {
    for (const [tokenId, { isForgotten }] of this.#written) if (!isForgotten) yield tokenId
  }

  /** Compares every count with what it counts. */
  audit(): void {
    const keys = this.#keys
    const perSku = new Map<string, { held: number; sold: number; outstanding: number; leased: number }>()
    const of = (id: string) => {
      const known = perSku.get(id) ?? { held: 0, sold: 0, outstanding: 0, leased: 0 }
      perSku.set(id, known)
      return known
    }
    for (const record of keys.hashes.get(`${this.#root}orders`)?.values() ?? []) {
      const [state, id = '', , quantity] = record.split('|')
      if (state === 'held') of(id).held += Number(quantity)
      if (state === 'paid') of(id).sold += Number(quantity)
    }
    for (const member of keys.sortedSets.get(`${this.#root}tokens`)?.keys() ?? []) {
      const [, id = '', quantity] = member.split('|')
      of(id).outstanding += Number(quantity)
    }
    for (const [key, lease] of keys.hashes)
      if (key.startsWith(`${this.#root}lease:`)) for (const [id, count] of lease) of(id).leased += Number(count)
    for (const id of keys.sets.get(`${this.#root}skus`) ?? []) this.#compare(id, of(id))
  }

  /** The figures of a SKU as Redis has them. */
  figures(skuId: number): Figures {
    const hash = this.#keys.hashes.get(`${this.#root}sku:${skuId}`)
    const names = 'stock free held sold quota pool leased outstanding redeemed reservedTotal deadTotal'.split(' ')
    return Object.fromEntries(names.map((name) => [name, Number(hash?.get(name) ?? 0)])) as unknown as Figures
  }

  #compare(id: string, counted: { held: number; sold: number; outstanding: number; leased: number }): void {
    const figures = this.figures(Number(id))
    for (const name of ['held', 'sold', 'outstanding', 'leased'] as const)
      if (figures[name] !== counted[name])
        this.#violate(`sku ${id} says ${name} ${figures[name]}, counted are ${counted[name]}`)
  }

  #onScript(run: ScriptRun): void {
    this.#world.mixText(run.name)
    this.#world.mixText(JSON.stringify(run.reply))
    for (const [id, row] of run.changed) {
      const { isChanged: _isChanged, limit: _limit, price: _price, holdMs: _holdMs, ...figures } = row
      for (const fault of checkInvariants(figures)) this.#violate(`sku ${id}: ${fault}`)
    }
    this.lines.onScript(run)
    if (run.name === 'reserve-1') this.#onReserve(run)
    else if (run.name === 'grant-1' || run.name === 'adopt-grants-1') this.#onGrants(run)
    else if (run.name === 'claim-slots-1') this.#onClaim(run)
    else if (run.name === 'adopt-1') this.#onAdopt(run)
    else if (run.name === 'end-rebuild-1') this.counts.rebuilds++
    if (++this.#scripts % AUDIT_EVERY === 0) this.audit()
  }

  #onReserve({ args, reply, caller }: ScriptRun): void {
    const replies = reply as (number | string)[]
    for (let index = 0; index * 2 < replies.length; index++) {
      if (replies[index * 2] !== CODE_OK) continue
      const [token, uid, id] = [args[1 + index * 5], args[2 + index * 5], args[3 + index * 5]]
      const orderId = `o${token}`
      if (this.#made.has(orderId) && !this.#forgottenOrders.delete(orderId))
        this.#violate(`token ${token} made its order twice`)
      this.#world.note(`buyer ${uid} has ordered sku ${id} with token ${token?.slice(0, 8)}`)
      this.#made.set(orderId, { by: caller, at: this.#world.now })
      this.counts.orders++
      this.#checkRule(uid ?? '', id ?? '')
    }
  }

  #onAdopt({ args, reply }: ScriptRun): void {
    for (const [index, code] of (reply as number[]).entries()) {
      const orderId = args[2 + index * 2] ?? ''
      if (code === 0) this.#unitless.add(orderId)
      if (code !== 1) continue
      this.#forgottenOrders.delete(orderId)
      if (!this.#made.has(orderId)) this.#violate(`order ${orderId} was adopted and was never made`)
    }
  }

  /** Units that a buyer holds or has bought of one product. */
  #checkRule(uid: string, id: string): void {
    let units = 0
    for (const record of this.#keys.hashes.get(`${this.#root}orders`)?.values() ?? []) {
      const [state, sku, buyer, quantity] = record.split('|')
      if (buyer !== uid || (state !== 'held' && state !== 'paid')) continue
      if (sku === id) units += Number(quantity)
      else if (this.#isOneProduct) this.#violate(`buyer ${uid} holds of skus ${sku} and ${id}`)
    }
    if (units > this.#limit) this.#violate(`buyer ${uid} holds ${units} of sku ${id}, allowed are ${this.#limit}`)
  }

  #onGrants({ name, args, reply, now }: ScriptRun): void {
    for (const [index, code] of (reply as number[]).entries()) {
      const at = 3 + index * 6
      const [token = '', uid, slot = '', id, , expiresAt] = args.slice(at, at + 6)
      this.#world.note(`${args[1]} ${name} ${token.slice(0, 8)} of buyer ${uid} sku ${id} slot ${slot}: ${code}`)
      if (code !== 1) continue
      const known = this.#written.get(token)
      if (known !== undefined && !known.isForgotten) continue
      const owner = this.#owners.get(slot)
      if (owner !== args[1]) this.#violate(`${args[1]} granted from slot ${slot}, which ${owner ?? 'nobody'} owns`)
      if (name === 'grant-1') this.counts.grants++
      if (known !== undefined) known.isForgotten = Number(expiresAt) < now
      else
        this.#written.set(token, {
          uid: Number(uid),
          skuId: Number(id),
          expiresAt: Number(expiresAt),
          isForgotten: false,
        })
    }
  }

  #onClaim({ args, reply }: ScriptRun): void {
    for (const [index, code] of (reply as number[]).entries()) {
      const slot = args[5 + index] ?? ''
      if (code === 0) continue
      if (this.#owners.get(slot) !== args[1]) this.counts.moves++
      this.#owners.set(slot, args[1] ?? '')
    }
  }

  get #now(): number {
    return EPOCH_MS + this.#world.now + this.#redis.clockOffsetMs
  }

  #order(orderId: string): string | undefined {
    return this.#keys.hashes.get(`${this.#root}orders`)?.get(orderId)
  }

  /** May this token still become, or has it become, a unit? */
  #isLive(tokenId: string): boolean {
    const token = this.#toldTokens.get(tokenId)
    if (token === undefined || token.isForgotten) return false
    const order = this.#order(`o${tokenId}`)
    if (order !== undefined) return order.startsWith('held') || order.startsWith('paid')
    return this.#now < token.expiresAt
  }

  #violate(what: string): void {
    this.#world.violate(what)
  }
}

/** Tokens that stand in the logs of the slots. */
function loggedTokens(keys: Keyspace, root: string): Set<string> {
  const tokens = new Set<string>()
  for (const [key, log] of keys.lists)
    if (key.startsWith(`${root}slot:`)) for (const record of log) tokens.add(record.slice(0, record.indexOf('|')))
  return tokens
}
