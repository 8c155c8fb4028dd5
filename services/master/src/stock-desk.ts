/** Changes of stock: in the ledger where there is one, then in the record. Large ones need a second operator. */

import { randomUUID } from 'node:crypto'
import { Fields, type Parsed, STOCK_MAX, skuKey } from '@bigtap/domain'
import type { Sale } from './book.ts'
import { hasLiveLedger, isFreeToChange } from './core/change-rules.ts'
import { onRedis } from './faults.ts'
import { Problem } from './http/edge.ts'
import type { Actor } from './http/session.ts'
import { entryOf, forbid, type SaleDesk, unwrap } from './sale-desk.ts'

/** What an operator asks for. */
export interface StockChange {
  readonly op: 'add' | 'remove' | 'set'
  readonly units: number
  readonly reason: string
}

/** What became of it. */
export type StockAnswer = { readonly stock: number } | { readonly confirmId: string; readonly expiresAt: number }

interface Waiting {
  readonly activityId: number
  readonly skuId: number
  readonly change: StockChange
  readonly requestId: string
  readonly by: string
  readonly expiresAt: number
}

/** Changes that wait for their second operator, and for how long. */
export const CONFIRM_LIMITS = { waitingMax: 100, waitMs: 600_000 } as const

/** The stock desk. */
export class StockDesk {
  readonly #desk: SaleDesk
  readonly #confirmUnits: number
  readonly #waiting = new Map<string, Waiting>()

  constructor({ confirmUnits }: { confirmUnits: number }, desk: SaleDesk) {
    this.#desk = desk
    this.#confirmUnits = confirmUnits
  }

  /** Changes the stock, or notes the change for a second operator. */
  async change(
    actor: Actor,
    name: { activityId: number | undefined; skuId: number | undefined; requestId: string | undefined },
    input: unknown,
  ): Promise<StockAnswer> {
    const change = unwrap(readChange(input))
    const sale = this.#desk.sale(name.activityId)
    const { id: skuId, stock } = this.#desk.sku(sale, name.skuId)
    const requestId = name.requestId ?? randomUUID()
    const moved = change.op === 'set' ? Math.abs(change.units - stock) : change.units
    if (moved <= this.#confirmUnits) return { stock: await this.#apply(actor, sale, skuId, change, requestId) }
    return this.#wait(actor, { activityId: sale.activity.id, skuId, change, requestId })
  }

  /** The second operator's yes. */
  async confirm(actor: Actor, confirmId: string): Promise<StockAnswer> {
    const waiting = this.#waiting.get(confirmId)
    if (waiting === undefined || waiting.expiresAt <= this.#desk.parts.clock.now()) throw new Problem('not_found')
    if (waiting.by === actor.name) throw new Problem('forbidden', { detail: 'somebody else has to confirm' })
    const sale = this.#desk.sale(waiting.activityId)
    const stock = await this.#apply(actor, sale, waiting.skuId, waiting.change, waiting.requestId)
    this.#waiting.delete(confirmId)
    return { stock }
  }

  async #wait(actor: Actor, name: Omit<Waiting, 'by' | 'expiresAt'>): Promise<StockAnswer> {
    const now = this.#desk.parts.clock.now()
    for (const [id, { expiresAt }] of this.#waiting) if (expiresAt <= now) this.#waiting.delete(id)
    if (this.#waiting.size >= CONFIRM_LIMITS.waitingMax) throw new Problem('overloaded')
    const confirmId = randomUUID()
    const expiresAt = now + CONFIRM_LIMITS.waitMs
    const subject = skuKey(name.activityId, name.skuId)
    await this.#desk.audit(actor, 'stock.asked', subject, undefined, { ...name.change, confirmId })
    this.#waiting.set(confirmId, { ...name, by: actor.name, expiresAt })
    return { confirmId, expiresAt }
  }

  async #apply(actor: Actor, sale: Sale, skuId: number, change: StockChange, requestId: string): Promise<number> {
    const { db, keepers } = this.#desk.parts
    const { id: activityId, state } = sale.activity
    const { stock: before } = this.#desk.sku(sale, skuId)
    const target = targetOf(before, change)
    const entry = entryOf(actor, 'stock.change', skuKey(activityId, skuId), { stock: before }, { ...change, requestId })
    await db.audit.append(entry) // nothing is changed in the ledger that the record could not follow
    const stock = isFreeToChange(state) ? target : await this.#restock(sale, skuId, change, requestId)
    sale.skus.set(skuId, { ...this.#desk.sku(sale, skuId), stock })
    sale.unsavedStocks.add(skuId)
    if (state !== 'draft') keepers.changed(sale)
    await keepers.actRound()
    await this.#desk.parts.record.save()
    await this.#desk.audit(actor, 'stock.changed', skuKey(activityId, skuId), { stock: before }, { stock, requestId })
    return stock
  }

  async #restock(sale: Sale, skuId: number, { op, units }: StockChange, requestId: string): Promise<number> {
    const { ledger } = this.#desk.parts
    const { id: activityId, state } = sale.activity
    if (!hasLiveLedger(state) || (state === 'preloading' && !sale.hasLedger))
      forbid(`the stock cannot change while the activity is ${state}`)
    const { outcome, stock } = await ledger.restock(activityId, skuId, { requestId, op, units })
    if (outcome === 'refused') forbid(`the stock stays ${stock}: less would be under what is held, sold or granted`)
    if (outcome === 'unknown') throw new Problem('not_found')
    // A repeat answers with the stock of its first time; the ledger knows today's.
    return outcome === 'done' ? stock : ((await onRedis(() => ledger.figures(activityId))).get(skuId)?.stock ?? stock)
  }
}

function targetOf(stock: number, { op, units }: StockChange): number {
  const target = op === 'set' ? units : op === 'add' ? stock + units : stock - units
  if (target < 0 || target > STOCK_MAX) forbid(`the stock would be ${target}`)
  return target
}

function readChange(value: unknown): Parsed<StockChange> {
  const fields = new Fields(value)
  const op = fields.oneOf('op', ['add', 'remove', 'set'] as const)
  const units = fields.number('units', { min: op === 'set' ? 0 : 1, max: STOCK_MAX })
  return fields.done({ op, units, reason: fields.text('reason', 500) })
}
