/** What a change of a sale would publish, tried before it is stored. */

import type { ActivityDoc, SkuDoc } from '@bigtap/domain'
import type { Clock } from '@bigtap/kernel'
import type { DocumentChange } from '@bigtap/store'
import type { Sale } from './book.ts'
import type { CatalogPublisher } from './catalog-publisher.ts'
import type { ConfigGate } from './config-gate.ts'
import { checkDocument, findAbsurd } from './core/document-check.ts'
import { needsTrial } from './core/lanes.ts'
import { documentsOf } from './documents.ts'
import { Problem } from './http/edge.ts'
import type { Actor } from './http/session.ts'
import type { RecordKeeper } from './record-keeper.ts'

/** Collaborators. */
export interface SaleTrialParts {
  readonly gate: Pick<ConfigGate, 'try'>
  readonly publisher: Pick<CatalogPublisher, 'published'>
  readonly record: Pick<RecordKeeper, 'note' | 'flushAudit'>
  readonly clock: Clock
}

/** How a change is made. `isForced`: an admin does without the trial. `isTried`: it was tried with others before. */
export interface How {
  readonly isForced?: boolean
  readonly isTried?: boolean
}

/** A sale as it would be. */
export interface Draft {
  readonly sale: Sale
  readonly activity?: ActivityDoc
  readonly skus?: readonly SkuDoc[]
}

/**
 * Most documents of one trial: a front holds 64 trials, and those of a change that could not be stored stand for 3 s. Of a
 * larger change the activities are tried and some of the SKUs, which differ little; all of them pass the dry run.
 */
export const TRIAL_DOCUMENTS_MAX = 32

/** The trial of changes. */
export class SaleTrial {
  readonly #parts: SaleTrialParts

  constructor(parts: SaleTrialParts) {
    this.#parts = parts
  }

  /** The dry run: throws a Problem `bad_request` for what no front takes, or no sale can mean. */
  check({ sale, activity = sale.activity, skus = [] }: Draft): void {
    const would = wouldBe({ sale, activity, skus })
    const now = this.#parts.clock.now()
    // What was taken once is no reason to refuse another change.
    const before = findAbsurd(
      sale.activity,
      skus.flatMap(({ id }) => sale.skus.get(id) ?? []),
      now,
    )
    const absurd = findAbsurd(activity, skus, now).filter((error) => !before.includes(error))
    const errors = [...documentsOf(would).flatMap(({ key, body }) => checkDocument(key, body)), ...absurd]
    if (errors.length > 0) throw new Problem('bad_request', { errors: errors.slice(0, 20) })
  }

  /** Tries drafts together; throws a Problem `gate_failed`, and says so in the audit. Returns a warning, if there is one. */
  async run(actor: Actor, subject: string, drafts: readonly Draft[], how: How = {}): Promise<string | undefined> {
    for (const draft of drafts) this.check(draft)
    if (how.isForced === true || how.isTried === true) return undefined
    const { publisher } = this.#parts
    const documents = drafts
      .flatMap((draft) => documentsOf(wouldBe(draft)))
      .filter(({ key, body }) => needsTrial(key, publisher.published(key), body))
      .sort((a, b) => Number(isSku(a.key)) - Number(isSku(b.key)))
      .slice(0, TRIAL_DOCUMENTS_MAX)
    return this.tryDocuments(actor, subject, documents)
  }

  /** Tries documents of any kind, which have passed their dry run; throws and returns as `run` does. */
  async tryDocuments(
    actor: Actor,
    subject: string,
    documents: readonly DocumentChange[],
    how: How = {},
  ): Promise<string | undefined> {
    if (how.isForced === true) return undefined
    const { gate, record } = this.#parts
    const result = await gate.try(documents)
    if (result.isPassed) return result.warning
    const { reason } = result
    const keys = documents.slice(0, 20).map(({ key }) => key)
    record.note({ actor: actor.name, role: actor.role, action: 'gate.failed', subject, after: { reason, keys } })
    await record.flushAudit().catch(() => undefined) // it waits
    throw new Problem('gate_failed', { detail: reason, keys })
  }
}

function isSku(key: string): boolean {
  return key.startsWith('sku:')
}

function wouldBe({ sale, activity = sale.activity, skus = [] }: Draft): Sale {
  return { ...sale, activity, skus: new Map([...sale.skus, ...skus.map((sku) => [sku.id, sku] as const)]) }
}
