/** ActKeeper's and the status keeper's rounds, and the comparison of the catalog with Redis. */

import { type ActivityState, activityKey, activityStep, skuKey, statusKey } from '@bigtap/domain'
import type { Clock, Logger, Metrics } from '@bigtap/kernel'
import type { Ledger, Store } from '@bigtap/store'
import { type Book, moveTo, type Sale, stageTo } from './book.ts'
import type { CatalogPublisher } from './catalog-publisher.ts'
import { type ActCommand, type ActSettings, actTick, type NodeFact, type SaleFact } from './core/act-keeper.ts'
import type { Alarms } from './core/alarms.ts'
import type { PublishedChange } from './core/command-log.ts'
import { nextStatus } from './core/status-keeper.ts'
import { documentsOf } from './documents.ts'
import type { LedgerOpener } from './ledger-opener.ts'
import type { LedgerFacts, LedgerWatch } from './ledger-watch.ts'
import { LineWatch } from './line-watch.ts'
import type { NodeWatch } from './node-watch.ts'
import type { RecordKeeper } from './record-keeper.ts'

/** Collaborators. */
export interface KeeperParts {
  readonly book: Book
  readonly publisher: CatalogPublisher
  readonly opener: LedgerOpener
  readonly record: RecordKeeper
  readonly store: Store
  readonly ledger: Pick<Ledger, 'lines'>
  readonly ledgers: LedgerWatch
  readonly watch: NodeWatch
  readonly alarms: Alarms
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Metrics
}

/** How often each round is due, ms. A flip is to be out within 100 ms of the ledger. */
export const LOOP_MS = {
  act: 50,
  nodes: 200,
  status: 50,
  pressure: 100,
  shares: 250,
  catalog: 500,
  record: 500,
} as const
const ALARM_EVERY_MS = 5_000
/** Documents whose revision the nodes must have. */
const DEFINITION = /^(activity|sku):/
const NEEDS_NODES: readonly ActivityState[] = ['preloading', 'armed', 'open']
const LAYER_ROLES = ['limiter', 'middle', 'cart', 'counter']
const SELLING: readonly ActivityState[] = ['armed', 'open', 'paused']

/** The rounds; each rejects when what it needs is away, and goes on from there the next time. */
export class Keepers {
  readonly #settings: ActSettings
  readonly #parts: KeeperParts
  /** Stocks of ledgers that differ from the book, by SKU, as they were seen last. */
  readonly #stocks = new Map<string, number>()
  readonly #lines: LineWatch

  constructor(settings: ActSettings, parts: KeeperParts) {
    this.#settings = settings
    this.#parts = parts
    this.#lines = new LineWatch({ lines: parts.ledger.lines, clock: parts.clock })
    const { metrics, publisher, book } = parts
    metrics.gauge('bigtap_master_catalog_revision_count', 'newest catalog revision', () => publisher.lastRevision)
    metrics.gauge('bigtap_master_sales_count', 'activities that are defined', () => book.sales.size)
    metrics.gauge(
      'bigtap_master_held_openings_count',
      'sales that wait for a ledger, the catalog or a node',
      () => this.heldOpenings,
    )
  }

  /** Sales whose opening is held. */
  get heldOpenings(): number {
    return [...this.#parts.book.sales.values()].filter(({ waitingFor }) => waitingFor.length > 0).length
  }

  /** One round of ActKeeper and of the catalog. */
  async actRound(): Promise<void> {
    const { book, clock, publisher, store, watch } = this.#parts
    // After a restart nobody is armed before it is known who is there.
    if (!watch.hasRead && store.ready()) await watch.read()
    const sales = [...book.sales.values()].map(factOf)
    const nodes = watch.list()
    this.#sayWhoLacks(nodes)
    const commands = actTick(clock.now(), { sales, nodes }, this.#settings)
    for (const command of commands) this.#obey(command)
    if (store.ready()) await publisher.flush()
  }

  /** Queues a sale's documents and takes its new state to the record. */
  changed(sale: Sale): void {
    if (this.#parts.publisher.queue(documentsOf(sale)) > 0) sale.revision = 0
  }

  /** One round of the status keeper. */
  async statusRound(): Promise<void> {
    const { book } = this.#parts
    const closing = book.in(['closed']).filter(({ activity }) => activity.stage !== 'shut')
    await Promise.all([...book.in(SELLING), ...closing].map((sale) => this.#followLedger(sale)))
    await this.#parts.publisher.flush()
  }

  /** The publisher says what is out. */
  onPublished(revision: number, changes: readonly PublishedChange[]): void {
    const { book, publisher } = this.#parts
    const ids = changes.flatMap(({ key }) => (DEFINITION.test(key) ? [Number(key.split(':')[1])] : []))
    for (const id of new Set(ids)) {
      const sale = book.get(id)
      const isPending = publisher.isPending(activityKey(id)) || publisher.isPending(`sku:${id}:`)
      if (sale !== undefined && !isPending) sale.revision = Math.max(sale.revision, revision)
    }
  }

  /** A sale without a single node of a layer: nobody is late, and nobody sells. */
  #sayWhoLacks(nodes: readonly NodeFact[]): void {
    const { alarms, book, clock } = this.#parts
    const isNeeded = book.in(NEEDS_NODES).length > 0
    for (const role of LAYER_ROLES) {
      const lacks = isNeeded && !nodes.some((node) => node.isLive && node.role === role)
      const message = `there is no live ${role}, and a sale needs one`
      alarms.set(lacks, { key: `nobody:${role}`, severity: 'critical', message }, clock.now())
    }
  }

  #obey(command: ActCommand): void {
    const { book, clock, opener, logger } = this.#parts
    const sale = book.get(command.activityId)
    if (sale === undefined) return
    if (command.type === 'open-ledger') void opener.open(sale)
    else if (command.type === 'alarm') this.#alarm(sale, command.waitingFor)
    else if (command.type === 'stage') {
      logger.info({ activityId: command.activityId, from: sale.activity.stage, to: command.stage }, 'layers move on')
      stageTo(sale, command.stage, clock.now())
      this.#moved(sale)
    } else {
      const next = activityStep(sale.activity.state, command.event)
      if (next === undefined) return
      logger.info({ activityId: command.activityId, from: sale.activity.state, to: next }, 'activity moves on')
      moveTo(sale, next, clock.now())
      this.#moved(sale)
      this.#parts.record.note({
        ...{ actor: 'act-keeper', role: 'service', action: `activity.${command.event}` },
        ...{ subject: activityKey(command.activityId), after: { state: next } },
      })
    }
  }

  #moved(sale: Sale): void {
    const { alarms, clock } = this.#parts
    alarms.clear(openingKey(sale), clock.now())
    this.changed(sale)
  }

  #alarm(sale: Sale, waitingFor: readonly string[]): void {
    sale.waitingFor = waitingFor
    const now = this.#parts.clock.now()
    const message = `the opening of activity ${sale.activity.id} is held: not everything is ready`
    const data = { activityId: sale.activity.id, stage: sale.activity.stage, waitingFor }
    this.#parts.alarms.raise({ key: openingKey(sale), severity: 'critical', message, data }, now)
    if (Math.abs(now - sale.alarmedAt) < ALARM_EVERY_MS) return
    sale.alarmedAt = now
    const { id, opensAt } = sale.activity
    this.#parts.logger.error({ activityId: id, opensAt, waitingFor }, 'the opening is held: not everything is ready')
  }

  /** Compares the catalog with Redis. */
  async keepCatalog(): Promise<void> {
    const { publisher } = this.#parts
    await publisher.reconcile()
    await publisher.flush()
  }

  /** While it sells the ledger's stock is the true one: a leader that died between the two halves of a change left the rest. */
  #followStock(sale: Sale, skuId: number, stock: number): void {
    const sku = sale.skus.get(skuId)
    const { id: activityId } = sale.activity
    const key = skuKey(activityId, skuId)
    const seen = this.#stocks.get(key)
    this.#stocks.delete(key)
    if (sku === undefined || sku.stock === stock || !SELLING.includes(sale.activity.state)) return
    // A change that is under way looks the same, once.
    if (seen !== stock) {
      this.#stocks.set(key, stock)
      return
    }
    const { logger, publisher } = this.#parts
    logger.info({ activityId, skuId, from: sku.stock, to: stock }, 'the stock follows the ledger')
    const body = { ...sku, stock }
    sale.skus.set(skuId, body)
    sale.unsavedStocks.add(skuId)
    publisher.queue([{ key, body }])
  }

  /** A ledger that is in doubt tells nothing: the last status stays until it is back. */
  async #followLedger(sale: Sale): Promise<void> {
    const { ledgers, clock, publisher } = this.#parts
    const activityId = sale.activity.id
    const facts = await ledgers.read(activityId)
    sale.outstanding = outstandingOf(facts)
    if (facts.state !== 'verified') return
    for (const [skuId, figures] of facts.figures) {
      if (figures.reservedTotal > 0) sale.hasSold = true
      this.#followStock(sale, skuId, figures.stock)
      const line = await this.#lines.view(sale.activity, skuId)
      const status = nextStatus(sale.statuses.get(skuId), { activityId, skuId, figures, line }, clock.now())
      if (status === undefined || !sale.skus.has(skuId) || !SELLING.includes(sale.activity.state)) continue
      sale.statuses.set(skuId, status)
      publisher.queue([{ key: statusKey(activityId, skuId), body: status }])
    }
  }
}

/** What ActKeeper sees of a sale. */
export function factOf({ activity, revision, hasLedger, outstanding, since, stagedAt }: Sale): SaleFact {
  const { id, state, stage, opensAt, closesAt } = activity
  return { activityId: id, state, stage, opensAt, closesAt, revision, hasLedger, outstanding, since, stagedAt }
}

function openingKey({ activity }: Sale): string {
  return `opening:${activity.id}`
}

/** A sale that never had a ledger has given out nothing. */
function outstandingOf(facts: LedgerFacts): number | undefined {
  if (facts.state !== 'verified') return facts.state === 'none' ? 0 : undefined
  return [...facts.figures.values()].reduce((sum, { outstanding }) => sum + outstanding, 0)
}
