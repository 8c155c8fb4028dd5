/**
 * All that acts while this master leads. It is made when the leadership is won and thrown away when it is lost.
 *
 * ```
 *   won ─► take over the record, load ─► take over the catalog, compare ─► keepers, admin API ─► lost: all of it stops
 * ```
 */

import type { Reigning } from '@bigtap/db'
import { parseSlotTableDoc, SLOTS_KEY } from '@bigtap/domain'
import { hasCode } from '@bigtap/kernel'
import { createWorker, type Worker } from '@bigtap/runtime'
import { Book } from './book.ts'
import { CatalogPublisher } from './catalog-publisher.ts'
import { recallCatalog } from './catalog-recall.ts'
import { Alarms } from './core/alarms.ts'
import { allDocuments } from './documents.ts'
import { createAdminApp } from './http/admin-app.ts'
import { LiveStream } from './http/live-stream.ts'
import type { Sessions } from './http/session.ts'
import { Keepers, LOOP_MS } from './keepers.ts'
import { LedgerOpener } from './ledger-opener.ts'
import { LedgerWatch } from './ledger-watch.ts'
import { Loader } from './loader.ts'
import type { MasterParts, MasterSettings } from './master.ts'
import { NodeWatch } from './node-watch.ts'
import { PolicyDesk } from './policy-desk.ts'
import { PolicyHistory } from './policy-history.ts'
import { RecordKeeper } from './record-keeper.ts'
import { RouterLinks } from './router-links.ts'
import { SaleDesk } from './sale-desk.ts'
import { SaleView } from './sale-view.ts'
import { SlotKeeping } from './slot-keeping.ts'
import { StockDesk } from './stock-desk.ts'

/** What a reign gets besides master's own collaborators. */
export interface ReignParts extends MasterParts {
  readonly sessions: Sessions
  /** May this reign still act, by the lease and our own clock? */
  mayAct(): boolean
  /** The reign cannot go on: the leadership is to be given up. `above`: the next epoch must be above this one. */
  onOver(reason: string, above?: number): void
}

/** A reign. */
export type Reign = ReturnType<typeof createReign>

const SIGN_OUTS_SETTING = 'sessions.signedOut'

/** A reign that has not begun. */
export function createReign(settings: MasterSettings, parts: ReignParts, reigning: Reigning) {
  const { logger } = parts
  const made = makeParts(settings, parts, reigning)
  const { publisher, keepers, record, slots, loader, stream, links, app, watch } = made
  let workers: Worker[] = []
  let state: 'loading' | 'acting' | 'over' = 'loading'
  /** A round that acts: none after the reign is over, and one that finds out that it is ends it. */
  const acting = (name: string, everyMs: number, round: () => Promise<void>) =>
    createWorker({ name, everyMs, work: () => whileReigning(parts, round), startsAtOnce: true }, logger)
  const begin = async (): Promise<void> => {
    const loaded = await loader.run()
    if (loaded.outcome === 'outdated') return parts.onOver('the record knows a newer epoch', loaded.newest)
    if (loaded.outcome !== 'loaded') return parts.onOver('the record could not be loaded')
    slots.recall(loaded.slots)
    await parts.sessions.recall(made.signOuts)
    await publisher.prime((documents) => {
      recallCatalog(made.book, documents)
      const table = parseSlotTableDoc(documents.find(({ key }) => key === SLOTS_KEY)?.body)
      if (table.ok) slots.recall(table.value)
    })
    await publisher.flush()
    if (state === 'over') return
    state = 'acting'
    links.start()
    stream.start()
    await app.ready()
    workers = [
      acting('nodes', LOOP_MS.nodes, async () => {
        await watch.read()
        slots.round()
        await publisher.flush()
      }),
      acting('act', LOOP_MS.act, () => keepers.actRound()),
      acting('status', LOOP_MS.status, () => keepers.statusRound()),
      acting('catalog', LOOP_MS.catalog, () => keepers.keepCatalog()),
      acting('record', LOOP_MS.record, async () => {
        await record.save()
        await slots.save()
      }),
    ]
    for (const worker of workers) worker.start()
  }
  return {
    ...made,
    epoch: reigning.epoch,
    get state() {
      return state
    },
    /** Loads and begins; rejects never. */
    start: () => begin().catch((error: unknown) => parts.onOver(`the reign could not begin: ${String(error)}`)),
    /** Stops all of it; what the record lacks is stored while nobody else leads. */
    stop: async (): Promise<void> => {
      const wasActing = state === 'acting'
      state = 'over'
      loader.stop()
      stream.stop()
      await Promise.all([...workers.map((worker) => worker.stop()), links.stop()])
      if (wasActing) await record.save().catch((error: unknown) => logger.warn({ error }, 'not all is stored'))
      await app.close()
    },
  }
}

async function whileReigning({ mayAct, onOver }: ReignParts, round: () => Promise<void>): Promise<void> {
  if (!mayAct()) return
  try {
    await round()
  } catch (error) {
    if (hasCode(error, 'STALE_EPOCH')) onOver('a newer leader has written')
    throw error
  }
}

function makeParts(settings: MasterSettings, given: ReignParts, reigning: Reigning) {
  const { store, ledger, clock, logger, mayAct, sessions } = given
  const { epoch } = reigning
  const parts = { ...given, db: given.db.fencedBy(reigning) }
  const { db } = parts
  const book = new Book()
  const alarms = new Alarms()
  const publisher: CatalogPublisher = new CatalogPublisher({
    ...{ catalog: parts.catalog, logger, epoch, mayAct },
    allDocuments: () => allDocuments(book.sales.values(), slots.table),
    onPublished: (revision, changes) => {
      links.publish(changes, revision)
      keepers.onPublished(revision, changes)
      for (const { key } of changes) alarms.clear(`document:${key}`, clock.now())
    },
    onRefused: (key, errors) => {
      logger.error({ key, errors }, 'a document is not published')
      const message = `document ${key} failed its checks, the one before stands`
      alarms.raise({ key: `document:${key}`, severity: 'critical', message, data: { errors } }, clock.now())
    },
  })
  const linkSettings = { ...settings, epoch }
  const links = new RouterLinks(linkSettings, { ...parts, head: () => publisher.lastRevision })
  const watch = new NodeWatch({ ...parts, links, alarms })
  const record = new RecordKeeper({ db, book, publisher, logger })
  const slots = new SlotKeeping({ ...parts, publisher, watch })
  const loader = new Loader({ databaseUrl: settings.databaseUrl, reigning }, { ...parts, book, publisher })
  const opener = new LedgerOpener(parts)
  const ledgers = new LedgerWatch(parts)
  const keepers: Keepers = new Keepers(settings, {
    ...{ ...parts, book, publisher, record, opener, watch, alarms, ledgers },
  })
  const policies = new PolicyHistory(db, clock)
  const isLoaded = { isLoaded: true } // the admin API answers only after the reign has begun
  const desk = new SaleDesk({
    ...{ db, store, ledger, book, publisher, keepers, record, policies, clock, watch, loader: isLoaded },
  })
  const view = new SaleView({ db, store, ledger, book, clock, nodes: () => watch.list() })
  const stream = new LiveStream(() => view.live(), logger)
  const stock = new StockDesk(settings, desk)
  const signOuts = {
    load: async () => ((await db.definitions.getSetting(SIGN_OUTS_SETTING)) ?? {}) as Record<string, number>,
    save: (signedOut: Readonly<Record<string, number>>) => db.definitions.setSetting(SIGN_OUTS_SETTING, signedOut),
  }
  const app = createAdminApp({
    ...{ desk, stock, policies: new PolicyDesk(desk), sessions, signOuts, db, view, stream, logger },
  })
  return { book, alarms, publisher, links, watch, record, slots, loader, keepers, desk, view, stream, signOuts, app }
}
