/** Does what rules want: sets paces and pauses SKUs, through the desk, like an operator. */

import { parseId } from '@bigtap/domain'
import type { Tick } from '@bigtap/store'
import type { Approval } from './core/approvals.ts'
import type { RuleAction } from './core/rules.ts'
import type { Actor } from './http/session.ts'
import type { PolicyDesk } from './policy-desk.ts'
import type { SaleDesk } from './sale-desk.ts'

/** Collaborators. */
export interface RuleActionParts {
  readonly desk: SaleDesk
  readonly policies: PolicyDesk
  /** The last tick, for the measured rates. */
  last(): Tick | undefined
}

/** The actions. */
export class RuleActions {
  readonly #parts: RuleActionParts

  constructor(parts: RuleActionParts) {
    this.#parts = parts
  }

  /** A rule acts alone. Rejects at the first action that is not possible. */
  actAsRule(name: string, subject: string, actions: readonly RuleAction[]): Promise<void> {
    return this.#parts.desk.change(() => this.#all({ name: `rule: ${name}`, role: 'operator' }, subject, actions))
  }

  /** An operator has said yes; call it within a change of the desk. */
  async actFor(actor: Actor, { subject, actions, rule }: Approval): Promise<void> {
    await this.#parts.desk.audit(actor, 'rule.approve', `rule:${rule}`, undefined, { subject, actions })
    await this.#all(actor, subject, actions)
  }

  async #all(actor: Actor, subject: string, actions: readonly RuleAction[]): Promise<void> {
    for (const action of actions) await this.#one(actor, subject, action)
  }

  async #one(actor: Actor, subject: string, action: RuleAction): Promise<void> {
    if (action.type === 'alert') return
    const [, a, s] = /^sku:(\d+):(\d+)$/.exec(subject) ?? []
    const own = a === undefined ? {} : { activityId: parseId(a), skuId: parseId(s) }
    const { activityId, skuId } = action.activityId === undefined ? own : action
    if (action.type === 'pause-sku') {
      await this.#parts.desk.patchSku(actor, activityId, skuId, { paused: true })
      return
    }
    const { type: _type, ...how } = action
    const input = {
      ...how,
      ...(activityId === undefined ? {} : { activityId }),
      ...(skuId === undefined ? {} : { skuId }),
    }
    await this.#parts.policies.setRate(actor, input, (one, sku) => this.#measured(one, sku))
  }

  #measured(activityId: number, skuId: number): number | undefined {
    const row = this.#parts.last()?.skus.find((one) => one.activityId === activityId && one.skuId === skuId)
    return row?.figures.grantRate
  }
}
