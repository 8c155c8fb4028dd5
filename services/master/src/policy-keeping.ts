/** PolicyKeeper's round: finds the trigger in force of every SKU with a plan, and puts it in force. */

import type { AuditEntry } from '@bigtap/db'
import { applyTrigger, type Figures, type Policy, parseSkuDoc, skuKey } from '@bigtap/domain'
import type { Clock, Logger } from '@bigtap/kernel'
import type { PublishedDocument } from '@bigtap/store'
import type { Book, Sale } from './book.ts'
import { LIVE_STATES } from './core/change-rules.ts'
import { type PlanFact, type PolicyChange, policyTick } from './core/policy-keeper.ts'

/** Collaborators. */
export interface PolicyKeepingParts {
  readonly book: Book
  readonly clock: Clock
  readonly logger: Logger
  /** Figures of a sale whose ledger is verified; undefined while it is in doubt. Rejects when Redis is away. */
  figures(activityId: number): Promise<ReadonlyMap<number, Figures> | undefined>
  /** SKUs of the sale have another policy. It was tried when its plan was stored. */
  changed(sale: Sale, skuIds: readonly number[]): void
  audit(entry: AuditEntry): void
}

/** How often a round is due, ms: a change is to be everywhere within a second. */
export const POLICY_EVERY_MS = 100

/** Keeps the policies in force. */
export class PolicyKeeping {
  readonly #parts: PolicyKeepingParts

  constructor(parts: PolicyKeepingParts) {
    this.#parts = parts
  }

  /** One round; rejects when Redis is away. */
  async round(): Promise<void> {
    const { book } = this.#parts
    const sales = book.in(LIVE_STATES).filter((sale) => hasPlan(sale))
    await Promise.all(sales.map((sale) => this.#keep(sale)))
  }

  async #keep(sale: Sale): Promise<void> {
    const { clock, changed } = this.#parts
    const { id: activityId, opensAt } = sale.activity
    const figures = await this.#parts.figures(activityId)
    const facts = [...sale.plans].flatMap(([skuId, planned]): PlanFact[] =>
      planned.plan.length === 0 ? [] : [{ ...planned, activityId, skuId, opensAt, free: figures?.get(skuId)?.free }],
    )
    const changes = policyTick(clock.now(), facts).filter((change) => this.#apply(sale, change))
    if (changes.length > 0)
      changed(
        sale,
        changes.map(({ skuId }) => skuId),
      )
  }

  #apply(sale: Sale, { activityId, skuId, active, policy }: PolicyChange): boolean {
    const [sku, planned] = [sale.skus.get(skuId), sale.plans.get(skuId)]
    if (sku === undefined || planned === undefined) return false
    sale.skus.set(skuId, { ...sku, policy })
    sale.plans.set(skuId, { ...planned, active })
    this.#parts.logger.info({ activityId, skuId, trigger: active }, 'the policy in force changes')
    this.#parts.audit({
      ...{ actor: 'policy-keeper', role: 'service', action: 'policy.trigger', subject: skuKey(activityId, skuId) },
      ...{ before: { trigger: planned.active, policy: sku.policy }, after: { trigger: active, policy } },
    })
    return true
  }
}

/** PostgreSQL keeps the fields of JSON in its own order. */
function isSame(a: Policy, b: Policy): boolean {
  return Object.entries(a).every(([name, value]) => b[name as keyof Policy] === value)
}

function hasPlan({ plans }: Sale): boolean {
  for (const { plan } of plans.values()) if (plan.length > 0) return true
  return false
}

/** A new leader takes the trigger that the catalog shows in force, so that no other policy is published in between. */
export function recallTriggers(book: Book, documents: readonly PublishedDocument[]): void {
  const byKey = new Map(documents.map(({ key, body }) => [key, body]))
  for (const sale of book.sales.values())
    for (const [skuId, planned] of sale.plans) {
      const sku = sale.skus.get(skuId)
      const published = parseSkuDoc(byKey.get(skuKey(sale.activity.id, skuId)))
      if (sku === undefined || !published.ok || planned.plan.length === 0) continue
      const { policy } = published.value
      const active = planned.plan.findIndex((_, index) =>
        isSame(applyTrigger(planned.base, planned.plan, index), policy),
      )
      sale.plans.set(skuId, { ...planned, active })
      sale.skus.set(skuId, { ...sku, policy: applyTrigger(planned.base, planned.plan, active) })
    }
}
