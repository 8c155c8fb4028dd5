/** Policies of SKUs: versions, dry-run, rollback, and one pace for all. */

import { Fields, type Policy, type PolicyPlan, paceOf, stateByFigures } from '@bigtap/domain'
import type { Sale } from './book.ts'
import { hasLiveLedger, readSkuPatch, skuChangeObstacle } from './core/change-rules.ts'
import { onRedis } from './faults.ts'
import { Problem } from './http/edge.ts'
import type { Actor } from './http/session.ts'
import type { SaleDesk } from './sale-desk.ts'
import { unwrap } from './sale-desk.ts'
import type { How } from './sale-trial.ts'

/** The rate at which a SKU is granted, as it was measured; for SKUs that have no pace. */
export type MeasuredRate = (activityId: number, skuId: number) => number | undefined

interface RateSet {
  readonly activityId: number
  readonly skuId: number
  readonly pacePerSecond: number | null
  readonly isPlanDropped: boolean
}

const PACE = { min: 0.01, max: 1_000_000, fraction: true } as const

type Id = number | undefined
type Input = Readonly<Record<string, unknown>>

/** The policy desk. */
export class PolicyDesk {
  readonly #desk: SaleDesk

  constructor(desk: SaleDesk) {
    this.#desk = desk
  }

  /** All versions that are kept, and the one in force. */
  async versions(activityId: Id, skuId: Id) {
    const sale = this.#desk.sale(activityId)
    const { id, policy: inForce } = this.#desk.sku(sale, skuId)
    const { doc, policyPlan } = this.#desk.skuDefinition(sale, id)
    const versions = await this.#desk.parts.policies.list(sale.activity.id, id)
    return { policy: doc.policy, inForce, policyPlan, trigger: sale.plans.get(id)?.active ?? -1, versions }
  }

  /** Sets what is named of a policy, as a new version. */
  async set(actor: Actor, activityId: Id, skuId: Id, policy: Input, how: How = {}) {
    await this.#desk.patchSku(actor, activityId, skuId, { policy }, how)
    const { versions } = await this.versions(activityId, skuId)
    return versions.at(-1)
  }

  /** What a policy would do to the SKU as it stands, without doing it. */
  async dryRun(activityId: Id, skuId: Id, policy: Input) {
    const sale = this.#desk.sale(activityId)
    const { doc: before } = this.#desk.skuDefinition(sale, skuId)
    const after = unwrap(readSkuPatch(before, { policy }))
    const obstacle = skuChangeObstacle(sale.activity.state, before, after)
    const figures = await onRedis(() => this.#desk.parts.ledger.figures(sale.activity.id))
    const found = figures.get(before.id)
    const effectOf = (one: Policy) => {
      if (found === undefined) return { policy: one }
      const state = stateByFigures(found, one)
      return { policy: one, state, pacePerSecond: paceOf(state, one) }
    }
    return {
      isAllowed: obstacle === undefined,
      obstacle,
      before: effectOf(before.policy),
      after: effectOf(after.policy),
    }
  }

  /** Makes an earlier version the newest one. */
  async rollback(actor: Actor, activityId: Id, skuId: Id, input: Input, how: How = {}) {
    const fields = new Fields(input)
    const { version } = unwrap(fields.done({ version: fields.number('version', { min: 1, max: 2 ** 31 }) }))
    const { versions } = await this.versions(activityId, skuId)
    const found = versions.find((one) => one.version === version)
    if (found === undefined) throw new Problem('not_found', { detail: `there is no version ${version}` })
    return this.set(actor, activityId, skuId, { ...found.policy }, how)
  }

  /**
   * Sets the pace of all SKUs, or of those of one activity; null lets them go without one. A plan that sets paces would soon
   * set another one: it is dropped, and the answer says so.
   */
  async setRate(actor: Actor, input: Input, measured: MeasuredRate = () => undefined) {
    const { pacePerSecond, factor, activityId: one, skuId: only } = readRate(input)
    const sales = one === undefined ? this.#running() : [this.#desk.sale(one)]
    if (one !== undefined && only !== undefined) this.#desk.sku(this.#desk.sale(one), only)
    const wanted: (RateSet & { readonly change: Input })[] = []
    for (const { activity, skus: known } of sales) {
      for (const [skuId, { policy }] of [...known]) {
        const before = policy.pacePerSecond ?? measured(activity.id, skuId)
        const pace = factor === undefined ? pacePerSecond : scaled(before, factor)
        if ((only !== undefined && only !== skuId) || pace === undefined) continue
        const isPlanned = hasPace(this.#desk.skuDefinition(this.#desk.sale(activity.id), skuId).policyPlan)
        const plan = isPlanned ? { policyPlan: [] } : {}
        const change = { policy: { pacePerSecond: pace }, ...plan }
        wanted.push({ activityId: activity.id, skuId, pacePerSecond: pace, isPlanDropped: isPlanned, change })
      }
    }
    const isTried = await this.#tryAll(actor, wanted)
    const skus: RateSet[] = []
    for (const { change, ...set } of wanted) {
      await this.#desk.patchSku(actor, set.activityId, set.skuId, change, { isTried })
      skus.push(set)
    }
    return { pacePerSecond, skus }
  }

  /** One trial for all of them. */
  async #tryAll(actor: Actor, wanted: readonly (RateSet & { readonly change: Input })[]): Promise<boolean> {
    const drafts = wanted.map(({ activityId, skuId, change }) => {
      const sale = this.#desk.sale(activityId)
      return { sale, skus: [unwrap(readSkuPatch(this.#desk.skuDefinition(sale, skuId).doc, change))] }
    })
    await this.#desk.parts.trial.run(actor, 'rate', drafts)
    return true
  }

  #running(): Sale[] {
    return [...this.#desk.parts.book.sales.values()].filter(({ activity }) => hasLiveLedger(activity.state))
  }
}

function readRate(input: Input) {
  const fields = new Fields(input)
  const { pacePerSecond, factor, activityId, skuId } = input
  if ((pacePerSecond === undefined) === (factor === undefined))
    fields.errors.push('pacePerSecond must be a number, or null for no pace; or give a factor')
  if (skuId !== undefined && activityId === undefined) fields.errors.push('skuId needs an activityId')
  const rate = {
    pacePerSecond: fields.numberOrNull('pacePerSecond', PACE),
    factor: factor === undefined ? undefined : fields.number('factor', { min: 0.01, max: 10, fraction: true }),
    activityId: activityId === undefined ? undefined : fields.id('activityId'),
    skuId: skuId === undefined ? undefined : fields.id('skuId'),
  }
  return unwrap(fields.done(rate))
}

/** Undefined where there is neither a pace nor a measured rate: nothing is known to scale. */
function scaled(before: number | undefined, factor: number): number | undefined {
  if (before === undefined || before <= 0) return undefined
  return Math.min(PACE.max, Math.max(PACE.min, Math.round(before * factor * 100) / 100))
}

function hasPace(plan: PolicyPlan): boolean {
  return plan.some(({ policy }) => policy.pacePerSecond !== undefined || policy.taperPacePerSecond !== undefined)
}
