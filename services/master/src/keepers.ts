/** The loops of master: ActKeeper, status keeper, catalog and record. Each round is alone; one that fails is done again. */

import { type ActivityState, activityKey, activityStep, statusKey } from '@bigtap/domain'
import type { Clock, Logger, Metrics } from '@bigtap/kernel'
import type { Ledger, NodeInfo, Nodes, Store } from '@bigtap/store'
import { type Book, moveTo, type Sale } from './book.ts'
import type { CatalogPublisher } from './catalog-publisher.ts'
import { type ActCommand, type ActSettings, actTick, type SaleFact } from './core/act-keeper.ts'
import { nextStatus } from './core/status-keeper.ts'
import { documentsOf } from './documents.ts'
import type { LedgerOpener } from './ledger-opener.ts'
import type { RecordKeeper } from './record-keeper.ts'

/** Collaborators. */
export interface KeeperParts {
  readonly book: Book
  readonly publisher: CatalogPublisher
  readonly opener: LedgerOpener
  readonly record: RecordKeeper
  readonly store: Store
  readonly ledger: Ledger
  readonly nodes: Nodes
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Metrics
}

/** How often each loop looks, ms. */
export const LOOP_MS = { act: 50, nodes: 200, status: 100, catalog: 500, record: 500 } as const
const ALARM_EVERY_MS = 5_000
const SELLING: readonly ActivityState[] = ['armed', 'open', 'paused']

/** The loops; they run from start() to stop(). */
export class Keepers {
  nodes: readonly NodeInfo[] = []
  readonly #settings: ActSettings
  readonly #parts: KeeperParts
  readonly #timers: NodeJS.Timeout[] = []
  readonly #failing = new Set<string>()
  #hasNodes = false

  constructor(settings: ActSettings, parts: KeeperParts) {
    this.#settings = settings
    this.#parts = parts
    const { metrics, publisher, book } = parts
    metrics.gauge('bigtap_master_catalog_revision_count', 'newest catalog revision', () => publisher.lastRevision)
    metrics.gauge('bigtap_master_sales_count', 'activities that are defined', () => book.sales.size)
    metrics.gauge('bigtap_master_held_openings_count', 'sales that wait for a ledger, the catalog or a node', () =>
      [...book.sales.values()].reduce((sum, { waitingFor }) => sum + (waitingFor.length > 0 ? 1 : 0), 0),
    )
  }

  start(): void {
    const { record, store } = this.#parts
    const withRedis = (round: () => Promise<void>) => async () => void (store.ready() && (await round()))
    this.#loop('act', LOOP_MS.act, () => this.actRound())
    this.#loop(
      'nodes',
      LOOP_MS.nodes,
      withRedis(() => this.#readNodes()),
    )
    this.#loop(
      'status',
      LOOP_MS.status,
      withRedis(() => this.statusRound()),
    )
    this.#loop(
      'catalog',
      LOOP_MS.catalog,
      withRedis(() => this.#keepCatalog()),
    )
    this.#loop('record', LOOP_MS.record, () => record.save())
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer)
  }

  /** One round of ActKeeper and of the catalog. */
  async actRound(): Promise<void> {
    const { book, clock, publisher, store } = this.#parts
    // After a restart nobody is armed before it is known who is there.
    if (!this.#hasNodes && store.ready()) await this.#readNodes()
    const sales = [...book.sales.values()].map(factOf)
    const commands = actTick(clock.now(), { sales, nodes: this.nodes }, this.#settings)
    for (const command of commands) this.#obey(command)
    if (store.ready()) await publisher.flush()
  }

  /** Queues a sale's documents and takes its new state to the record. */
  changed(sale: Sale): void {
    sale.revision = 0
    this.#parts.publisher.queue(documentsOf(sale))
  }

  /** One round of the status keeper. */
  async statusRound(): Promise<void> {
    await Promise.all(this.#parts.book.in(SELLING).map((sale) => this.#followLedger(sale)))
    await this.#parts.publisher.flush()
  }

  /** The publisher says what is out. */
  onPublished(revision: number, keys: readonly string[]): void {
    const { book, publisher } = this.#parts
    for (const key of keys) {
      const sale = key.startsWith('activity:') ? book.get(Number(key.slice('activity:'.length))) : undefined
      if (sale !== undefined && !publisher.isPending(activityKey(sale.activity.id))) sale.revision = revision
    }
  }

  #obey(command: ActCommand): void {
    const { book, clock, opener, logger } = this.#parts
    const sale = book.get(command.activityId)
    if (sale === undefined) return
    if (command.type === 'open-ledger') void opener.open(sale)
    else if (command.type === 'alarm') this.#alarm(sale, command.waitingFor)
    else {
      const next = activityStep(sale.activity.state, command.event)
      if (next === undefined) return
      logger.info({ activityId: command.activityId, from: sale.activity.state, to: next }, 'activity moves on')
      moveTo(sale, next, clock.now())
      this.changed(sale)
      this.#parts.record.note({
        ...{ actor: 'act-keeper', role: 'service', action: `activity.${command.event}` },
        ...{ subject: activityKey(command.activityId), after: { state: next } },
      })
    }
  }

  #alarm(sale: Sale, waitingFor: readonly string[]): void {
    sale.waitingFor = waitingFor
    const now = this.#parts.clock.now()
    if (Math.abs(now - sale.alarmedAt) < ALARM_EVERY_MS) return
    sale.alarmedAt = now
    const { id, opensAt } = sale.activity
    this.#parts.logger.error({ activityId: id, opensAt, waitingFor }, 'the opening is held: not everything is ready')
  }

  /** The first comparison with Redis is a full one. */
  async #keepCatalog(): Promise<void> {
    const { publisher } = this.#parts
    if (publisher.isPrimed) await publisher.reconcile()
    else await publisher.prime()
    await publisher.flush()
  }

  async #readNodes(): Promise<void> {
    this.nodes = await this.#parts.nodes.list()
    this.#hasNodes = true
  }

  /** A ledger that is in doubt tells nothing: the last status stays until it is back. */
  async #followLedger(sale: Sale): Promise<void> {
    const { ledger, store, clock, publisher } = this.#parts
    const activityId = sale.activity.id
    const guard = await ledger.guards.read(activityId)
    if (guard === undefined || !guard.endsWith(`:${store.runId}`)) return
    for (const [skuId, figures] of await ledger.figures(activityId)) {
      if (figures.reservedTotal > 0) sale.hasSold = true
      const status = nextStatus(sale.statuses.get(skuId), { activityId, skuId, figures }, clock.now())
      if (status === undefined || !sale.skus.has(skuId) || !SELLING.includes(sale.activity.state)) continue
      sale.statuses.set(skuId, status)
      publisher.queue([{ key: statusKey(activityId, skuId), body: status }])
    }
  }

  #loop(name: string, everyMs: number, round: () => Promise<void>): void {
    let isRunning = false
    const run = async () => {
      if (isRunning) return
      isRunning = true
      try {
        await round()
        if (this.#failing.delete(name)) this.#parts.logger.info({ loop: name }, 'a loop works again')
      } catch (error) {
        if (!this.#failing.has(name)) this.#parts.logger.warn({ error, loop: name }, 'a loop failed and goes on')
        this.#failing.add(name)
      } finally {
        isRunning = false
      }
    }
    void run()
    this.#timers.push(setInterval(() => void run(), everyMs))
  }
}

/** What ActKeeper sees of a sale. */
export function factOf({ activity, revision, hasLedger, since }: Sale): SaleFact {
  const { id, state, opensAt, closesAt } = activity
  return { activityId: id, state, opensAt, closesAt, revision, hasLedger, since }
}
