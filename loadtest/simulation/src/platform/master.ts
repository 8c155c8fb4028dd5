/** Master but for its admin API: leadership, ActKeeper, slots, statuses, catalog. */

import { type ActivityDoc, activityStep, SLOTS_KEY, type SlotTableDoc, statusKey } from '@bigtap/domain'
import { Book, moveTo, type Sale, stageTo } from '@bigtap/master/book'
import { CatalogPublisher } from '@bigtap/master/catalog-publisher'
import { actTick } from '@bigtap/master/core/act-keeper'
import { SlotKeeper } from '@bigtap/master/core/slot-keeper'
import { nextStatus } from '@bigtap/master/core/status-keeper'
import { allDocuments, documentsOf } from '@bigtap/master/documents'
import { factOf } from '@bigtap/master/keepers'
import { LeaderSeat } from '@bigtap/master/leader-seat'
import { LedgerOpener } from '@bigtap/master/ledger-opener'
import { RouterLinks } from '@bigtap/master/router-links'
import { CatalogStore, type HeardNode, Ledger, Nodes, type Store } from '@bigtap/store'
import type { SimProcess } from '../world/process.ts'
import { addressOf, type Context, contextOf, REDIS_MS, ROUTER_ADDRESSES, type Site } from './site.ts'

/** How often each loop looks, ms. */
const LOOP_MS = { act: 50, status: 200, slots: 200, catalog: 500 } as const
const SILENT_MS = 1_500
const PRELOAD_MS = 60_000
const SELLING: readonly string[] = ['armed', 'open', 'paused']

/** Starts a master; the first to get the lease leads. */
export function startMaster(site: Site, id: string): { process: SimProcess } {
  const { world, redis } = site
  const process = world.spawn(id, 'master')
  const context = contextOf(site, process)
  const store = redis.connect(process, REDIS_MS)
  let reign: Reign | undefined
  const seat: LeaderSeat = new LeaderSeat(
    { nodeId: id, address: () => addressOf(id) },
    {
      ...{ ...context, store },
      onWon: ({ epoch }) => {
        const mayAct = () => seat.epoch() === epoch
        reign = new Reign({ epoch, mayAct }, { site, process, context, store })
        void reign.start()
      },
      onLost: () => reign?.stop(),
    },
  )
  world.runIn(process, () => seat.start())
  return { process }
}

interface ReignParts {
  readonly site: Site
  readonly process: SimProcess
  readonly context: Context
  readonly store: Store
}

/** What a leader does until it leads no more. */
class Reign {
  readonly #mayAct: () => boolean
  readonly #parts: ReignParts
  readonly #ledger: Ledger
  readonly #nodes: Nodes
  readonly #publisher: CatalogPublisher
  readonly #opener: LedgerOpener
  readonly #links: RouterLinks
  readonly #slotKeeper = new SlotKeeper()
  readonly #timers: NodeJS.Timeout[] = []
  #sale: Sale | undefined
  #slots: SlotTableDoc | undefined
  #heard: readonly HeardNode[] = []
  #isOver = false

  constructor({ epoch, mayAct }: { epoch: number; mayAct: () => boolean }, parts: ReignParts) {
    this.#mayAct = mayAct
    this.#parts = parts
    const { context, store, site } = parts
    this.#ledger = new Ledger(store)
    this.#nodes = new Nodes(store)
    this.#opener = new LedgerOpener({ ...context, store, ledger: this.#ledger })
    this.#publisher = new CatalogPublisher({
      ...{ catalog: new CatalogStore(store), logger: context.logger, epoch, mayAct },
      allDocuments: () => allDocuments(this.#sale === undefined ? [] : [this.#sale], this.#slots),
      onPublished: (revision, changes) => {
        this.#links.publish(changes, revision)
        if (changes.some(({ key }) => key.startsWith('activity:')) && this.#sale) this.#sale.revision = revision
      },
      onRefused: (key, errors) => site.world.violate(`document ${key} was refused: ${errors.join(', ')}`),
    })
    this.#links = new RouterLinks(
      { routers: ROUTER_ADDRESSES, nodeId: parts.process.id, clusterSecret: 'simulation', epoch },
      { ...context, mayAct, head: () => this.#publisher.lastRevision },
    )
  }

  async start(): Promise<void> {
    if (!(await this.#load())) return
    this.#links.start()
    this.#loop(LOOP_MS.act, () => this.#actRound())
    this.#loop(LOOP_MS.status, () => this.#statusRound())
    this.#loop(LOOP_MS.slots, () => this.#slotRound())
    this.#loop(LOOP_MS.catalog, () => this.#catalogRound())
  }

  stop(): void {
    this.#isOver = true
    void this.#links.stop()
    for (const timer of this.#timers) clearInterval(timer)
  }

  /** Tries until PostgreSQL answers. */
  async #load(): Promise<boolean> {
    const { site, process } = this.#parts
    const db = site.record.connect(process)
    while (!this.#isOver) {
      try {
        const activity = (await db.definitions.getActivity(site.sale.activity.id)) as ActivityDoc | undefined
        if (activity === undefined) return false
        const slots = new CatalogStore(this.#parts.store)
        const found = (await slots.readSince(0)).find(({ key }) => key === SLOTS_KEY)?.body as SlotTableDoc | undefined
        this.#slots = newer(found, site.record.slots)
        this.#sale = saleOf(activity, site, process.clock.now())
        return !this.#isOver
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 200)) // away: tried again
      }
    }
    return false
  }

  #loop(everyMs: number, round: () => Promise<void>): void {
    let isRunning = false
    const run = async () => {
      if (isRunning || !this.#mayAct()) return
      isRunning = true
      await round().catch(() => undefined) // done again with the next round
      isRunning = false
    }
    this.#timers.push(setInterval(() => void run(), everyMs))
  }

  async #actRound(): Promise<void> {
    const { site, process } = this.#parts
    const sale = this.#sale
    if (sale === undefined) return
    const nodes = this.#heard.map((node) => ({ ...node, isLive: node.ageMs <= SILENT_MS }))
    const now = process.clock.now()
    for (const command of actTick(now, { sales: [factOf(sale)], nodes }, { preloadMs: PRELOAD_MS })) {
      if (command.type === 'open-ledger') void this.#opener.open(sale)
      if (command.type === 'stage') stageTo(sale, command.stage, now)
      if (command.type === 'step') this.#move(sale, activityStep(sale.activity.state, command.event), now)
      if (command.type === 'stage' || command.type === 'step') {
        site.world.note(`${process.id} takes the sale to ${sale.activity.state}, ${sale.activity.stage}`)
        sale.revision = 0
        this.#publisher.queue(documentsOf(sale))
      }
    }
    await this.#publisher.flush()
  }

  #move(sale: Sale, next: ActivityDoc['state'] | undefined, now: number): void {
    if (next === undefined) return
    const { site, process } = this.#parts
    const { id, state } = sale.activity
    moveTo(sale, next, now)
    const stored = site.record.connect(process).definitions.setActivityState(id, [state], next)
    stored.catch(() => undefined) // the next leader finds an earlier state, and moves on from there
  }

  async #statusRound(): Promise<void> {
    const { store, process } = this.#parts
    const sale = this.#sale
    if (sale === undefined || !SELLING.includes(sale.activity.state)) return
    const activityId = sale.activity.id
    const guard = await this.#ledger.guards.read(activityId)
    if (guard === undefined || !guard.endsWith(`:${store.runId}`)) return
    const all = await this.#ledger.figures(activityId)
    sale.outstanding = [...all.values()].reduce((sum, { outstanding }) => sum + outstanding, 0)
    for (const [skuId, figures] of all) {
      const status = nextStatus(sale.statuses.get(skuId), { activityId, skuId, figures }, process.clock.now())
      if (status === undefined) continue
      sale.statuses.set(skuId, status)
      this.#publisher.queue([{ key: statusKey(activityId, skuId), body: status }])
    }
    await this.#publisher.flush()
  }

  async #slotRound(): Promise<void> {
    const { site, process } = this.#parts
    this.#heard = await this.#nodes.list()
    const nodes = this.#heard.filter(({ role }) => role === 'middle')
    const next = this.#slotKeeper.tick(process.clock.monotonic(), { table: this.#slots, nodes })
    if (next === undefined || !this.#mayAct()) return
    site.world.note(`${process.id} slots epoch ${next.epoch}: ${next.nodes.map((node) => node.id).join(' ')}`)
    this.#slots = next
    site.record.slots = newer(site.record.slots, next)
    this.#publisher.queue([{ key: SLOTS_KEY, body: next }])
    await this.#publisher.flush()
  }

  async #catalogRound(): Promise<void> {
    if (this.#publisher.isPrimed) await this.#publisher.reconcile()
    else await this.#publisher.prime()
    await this.#publisher.flush()
  }
}

function newer(a: SlotTableDoc | undefined, b: SlotTableDoc | undefined): SlotTableDoc | undefined {
  return (a?.epoch ?? 0) >= (b?.epoch ?? 0) ? a : b
}

function saleOf(activity: ActivityDoc, { sale, record }: Site, now: number): Sale {
  const stored = { version: 1, createdAt: now, updatedAt: now }
  const skus = sale.skus.map((sku) => ({ ...sku, ...stored, policyPlan: [] }))
  const made = new Book().put({ ...activity, ...stored, revision: 0 }, skus, now)
  made.hasSold = record.orders.size > 0
  return made
}
