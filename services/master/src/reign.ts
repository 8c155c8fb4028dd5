/**
 * All that acts while this master leads. It is made when the leadership is won and thrown away when it is lost.
 *
 * ```
 *   won ─► take over the record, load ─► take over the catalog, compare ─► keepers, admin API ─► lost: all of it stops
 * ```
 */

import type { Reigning } from '@bigtap/db'
import { hasCode } from '@bigtap/kernel'
import { createWorker, type Worker } from '@bigtap/runtime'
import { LOOP_MS } from './keepers.ts'
import type { MasterSettings } from './master.ts'
import { makeReign, type ReignParts } from './reign-parts.ts'

/** A reign. */
export type Reign = ReturnType<typeof createReign>

interface Round {
  readonly name: string
  readonly everyMs: number
  readonly round: () => Promise<void>
}

/** A reign that has not begun. */
export function createReign(settings: MasterSettings, parts: ReignParts, reigning: Reigning) {
  const { logger } = parts
  const made = makeReign(settings, parts, reigning)
  const { app, control, gate, links, loader, publisher, record, slots, stream } = made
  let workers: Worker[] = []
  let state: 'loading' | 'acting' | 'over' = 'loading'
  const begin = async (): Promise<void> => {
    const startedAt = parts.clock.monotonic()
    const loaded = await loader.run()
    const loadedAt = parts.clock.monotonic()
    if (loaded.outcome === 'outdated') return parts.onOver('the record knows a newer epoch', loaded.newest)
    if (loaded.outcome !== 'loaded') return parts.onOver('the record could not be loaded')
    slots.recall(loaded.slots)
    await parts.sessions.recall(made.signOuts)
    await Promise.all([control.load(), made.abuse.load()])
    await publisher.prime(made.recall)
    await publisher.flush()
    await app.ready()
    if (state === 'over') return
    state = 'acting'
    links.start()
    stream.start()
    workers = roundsOf(made).map(({ name, everyMs, round }) =>
      createWorker({ name, everyMs, work: () => whileReigning(parts, round), startsAtOnce: true }, logger),
    )
    for (const worker of workers) worker.start()
    const times = { loadMs: loadedAt - startedAt, beginMs: parts.clock.monotonic() - loadedAt }
    logger.info({ epoch: reigning.epoch, sales: made.book.sales.size, ...times }, 'the reign has begun')
  }
  return {
    ...made,
    epoch: reigning.epoch,
    get state() {
      return state
    },
    /** Loads and begins; rejects never. */
    start: () =>
      begin().catch(async (error: unknown) => {
        const isOlder = hasCode(error, 'STALE_EPOCH')
        const above = isOlder ? await parts.catalog.head().catch(() => undefined) : undefined
        parts.onOver(`the reign could not begin: ${String(error)}`, above?.epoch)
      }),
    /** Stops all of it; what the record lacks is stored while nobody else leads. */
    stop: async (): Promise<void> => {
      const wasActing = state === 'acting'
      state = 'over'
      loader.stop()
      stream.stop()
      gate.stop()
      await Promise.all([...workers.map((worker) => worker.stop()), links.stop(), control.stop()])
      if (wasActing) await record.save().catch((error: unknown) => logger.warn({ error }, 'not all is stored'))
      await app.close()
    },
  }
}

/** Each round is alone; one that fails is done again. */
function roundsOf({
  keepers,
  watch,
  slots,
  publisher,
  pressure,
  shares,
  record,
  control,
}: ReturnType<typeof makeReign>): Round[] {
  const nodes = async () => {
    await watch.read()
    slots.round()
    await publisher.flush()
  }
  const store = async () => {
    await record.save()
    await slots.save()
  }
  return [
    { name: 'nodes', everyMs: LOOP_MS.nodes, round: nodes },
    { name: 'act', everyMs: LOOP_MS.act, round: () => keepers.actRound() },
    { name: 'status', everyMs: LOOP_MS.status, round: () => keepers.statusRound() },
    { name: 'pressure', everyMs: LOOP_MS.pressure, round: () => pressure.round() },
    { name: 'shares', everyMs: LOOP_MS.shares, round: () => shares.round() },
    { name: 'catalog', everyMs: LOOP_MS.catalog, round: () => keepers.keepCatalog() },
    { name: 'record', everyMs: LOOP_MS.record, round: store },
    ...control.rounds,
  ]
}

/** A round acts only in its reign, and one that finds out that it is over ends it. */
async function whileReigning({ mayAct, onOver }: ReignParts, round: () => Promise<void>): Promise<void> {
  if (!mayAct()) return
  try {
    await round()
  } catch (error) {
    if (hasCode(error, 'STALE_EPOCH')) onOver('a newer leader has written')
    throw error
  }
}
