import type { CatalogView } from '@bigtap/catalog'
import type { ActivityDoc, Figures } from '@bigtap/domain'
import { type Clock, type Logger, type Metrics, type Random, SLOT_COUNT, slotOf } from '@bigtap/kernel'
import type { Kind } from '@bigtap/protocol'
import type { GrantLog, NodeState } from '@bigtap/store'
import type { KeyRing } from '@bigtap/token'
import type { Link } from '@bigtap/transport'
import { ActivityKeeper } from './activity-keeper.ts'
import { AskDesk, type AskDeskSettings } from './ask-desk.ts'
import { Decider, SLOT } from './core/decide.ts'
import { type Forgetting, forgetSome } from './core/grants.ts'
import { TICK_MS } from './core/lease-plan.ts'
import { SKUS_MAX } from './core/sku-table.ts'

/** Who the node is, and its limits. */
export interface MiddleSettings extends AskDeskSettings {
  readonly nodeId: string
  /** Grants that the node remembers. */
  readonly recordsMax: number
  /** Grants that wait to be written. */
  readonly pendingMax: number
  /** How often all who wait for one SKU may ask this node, per second (default 1,000). */
  readonly queuedPerSecond?: number
}

/** Collaborators of a node. */
export interface MiddleParts {
  readonly catalog: CatalogView
  readonly log: GrantLog
  readonly ring: KeyRing
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: Metrics
  /** Has the catalog been read? Until then the node is joining (default: yes). */
  isCatalogLoaded?(): boolean
}

/** What the operations page shows of a SKU. */
export interface SkuView {
  readonly activityId: number
  readonly skuId: number
  readonly state: string
  readonly isServing: boolean
  readonly available: number
  readonly asks: number
  readonly granted: number
  /** Buyers that are taken to wait. */
  readonly waiting: number
  /** The ledger's, as of the lease before `leaseUntil`; none before the first. */
  readonly figures: Figures | undefined
  readonly leaseUntil: number
}

/** Records looked at per tick while some must be forgotten: 1 ms of it. */
const FORGOTTEN_PER_TICK = 50_000

/** A Middle node: keeps one keeper per live activity, follows the catalog and the slot table, ticks. */
export class MiddleNode {
  readonly decider: Decider
  readonly desk: AskDesk
  readonly #settings: MiddleSettings
  readonly #parts: MiddleParts
  readonly #keepers = new Map<number, ActivityKeeper>()
  #leaving: ActivityKeeper[] = []
  #retired = 0
  #epoch = 0
  #owners = 1
  #hasServed = false
  #isLeaving = false
  /** The walk that forgets records of slots that were lost and of activities that left; undefined: nothing to forget. */
  #forgetting: Forgetting | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(settings: MiddleSettings, parts: MiddleParts) {
    this.#settings = settings
    this.#parts = parts
    this.decider = new Decider(settings)
    this.decider.skus.queuedPerSecond = settings.queuedPerSecond ?? this.decider.skus.queuedPerSecond
    const keeperOf = (activityId: number) => this.#keepers.get(activityId)
    this.desk = new AskDesk(settings, { ...parts, decider: this.decider, keeperOf })
    const { metrics } = parts
    const total = () => this.grantedTotal
    metrics.gauge('bigtap_middle_granted_total', 'Grants written, with those found in the logs at the start', total)
    const joining = () => [...this.#keepers.values()].reduce((sum, { line }) => sum + line.joining, 0)
    metrics.gauge('bigtap_middle_joins_count', 'Buyers that wait for their place in a line to be written', joining)
    metrics.gauge('bigtap_middle_records_count', 'Purchase records', () => this.decider.buyers.used)
    metrics.gauge('bigtap_middle_pending_count', 'Grants that wait to be written', () => this.decider.pending)
    metrics.gauge('bigtap_middle_slots_count', 'Slots that the slot table gives to this node', () => this.slotCount)
    metrics.gauge('bigtap_middle_skus_count', 'SKUs that are decided about', () => this.decider.skus.size)
  }

  get grantedTotal(): number {
    let total = this.#retired
    for (const keeper of this.#keepers.values()) total += keeper.grantedTotal
    return total
  }

  /** Is every activity that has a ledger served, in all slots that are ours? */
  get isServing(): boolean {
    return [...this.#keepers.values()].every((keeper) => !keeper.hasLedger || keeper.isServing)
  }

  /** Slots that the slot table gives to this node. */
  get slotCount(): number {
    return this.decider.slots.reduce((count, slot) => count + (slot === SLOT.own ? 1 : 0), 0)
  }

  /** What the heartbeat says: `joining` until it has served once; a fault later on moves no slots. */
  get state(): NodeState {
    if (this.#isLeaving) return 'leaving'
    this.#hasServed ||= (this.#parts.isCatalogLoaded?.() ?? true) && this.isServing
    return this.#hasServed ? 'ready' : 'joining'
  }

  /** Wants to be rid of its slots: the heartbeat says so from now on. */
  leave(): void {
    this.#isLeaving = true
  }

  /** Hand it to the link server. */
  onFrame(link: Link, kind: Kind, body: Uint8Array): void {
    this.desk.onFrame(link, kind, body)
  }

  start(): void {
    this.applyCatalog()
    this.#timer = setInterval(() => this.tick(), TICK_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
    for (const keeper of this.#keepers.values()) keeper.stop()
  }

  /** One tick by hand. */
  tick(): void {
    this.decider.now = this.#parts.clock.now()
    for (const keeper of this.#keepers.values()) keeper.tick()
    this.desk.tick()
    if (this.#forgetting !== undefined) this.#forgetOn(this.#forgetting)
  }

  /** Forgets records of an activity and reads them again from the log; tells how many. */
  clearRecords(activityId: number, uid: number | undefined): number {
    return this.#keepers.get(activityId)?.slots.forget(uid) ?? 0
  }

  /** Takes over what the catalog says; call it after each change. */
  applyCatalog(): void {
    this.#applySlots()
    const { catalog } = this.#parts
    for (const keeper of this.#keepers.values()) {
      const doc = catalog.activity(keeper.activityId)
      if (doc === undefined || !isLive(doc)) this.#retire(keeper)
    }
    for (const doc of catalog.activities().values()) if (isLive(doc)) this.#configure(doc)
  }

  /** What stands at /debug/skus. */
  view(): SkuView[] {
    const { skus } = this.decider
    return [...this.#keepers.values()].flatMap((keeper) =>
      [...keeper.skus].map(([skuId, { sku, figures }]) => ({
        activityId: keeper.activityId,
        skuId,
        state: skus.state[sku] ?? 'idle',
        isServing: skus.isServing[sku] === 1,
        available: skus.available[sku] as number,
        asks: skus.asks[sku] as number,
        granted: skus.granted[sku] as number,
        waiting: skus.waiting[sku] as number,
        figures,
        leaseUntil: skus.leaseUntil[sku] as number,
      })),
    )
  }

  #configure(doc: ActivityDoc): void {
    // An activity that was reset waits until its old records are gone.
    if (this.#leaving.some(({ activityId }) => activityId === doc.id)) return
    const { catalog } = this.#parts
    let keeper = this.#keepers.get(doc.id)
    if (keeper === undefined) {
      keeper = new ActivityKeeper(doc, this.#keeperParts())
      this.#keepers.set(doc.id, keeper)
      keeper.applySlots(this.#epoch)
    }
    keeper.nodes = this.#owners
    keeper.paceFactor = catalog.pressure()?.factor ?? 1
    keeper.hasSlots = this.slotCount > 0
    const rows = doc.skuIds.flatMap((skuId) => {
      const skuDoc = catalog.sku(doc.id, skuId)
      const sku = skuDoc === undefined ? -1 : this.#rowOf(doc.id, skuId)
      return skuDoc === undefined || sku < 0 ? [] : [{ sku, doc: skuDoc, status: catalog.status(doc.id, skuId) }]
    })
    keeper.configure(doc, rows)
  }

  #keeperParts(): ConstructorParameters<typeof ActivityKeeper>[1] {
    const { nodeId } = this.#settings
    const onSettled: AskDesk['onSettled'] = (record, result, isFault) => this.desk.onSettled(record, result, isFault)
    const onJoined: AskDesk['onJoined'] = (record) => this.desk.onJoined(record)
    return { ...this.#parts, nodeId, decider: this.decider, onSettled, onJoined }
  }

  #rowOf(activityId: number, skuId: number): number {
    const { skus } = this.decider
    const found = skus.find(activityId, skuId)
    const sku = found >= 0 ? found : skus.add(activityId, skuId)
    if (sku < 0)
      this.#parts.logger.error({ activityId, skuId, skusMax: SKUS_MAX }, 'no room for a sku, it is not served')
    return sku
  }

  #retire(keeper: ActivityKeeper): void {
    keeper.stop()
    this.#retired += keeper.grantedTotal
    this.#keepers.delete(keeper.activityId)
    this.#leaving.push(keeper)
    this.#forgetting = { from: 0, busy: 0 }
  }

  /** A part of the walk per tick. It begins anew as long as records are busy, and at each loss. */
  #forgetOn(walk: Forgetting): void {
    const { buyers, skus, slots } = this.decider
    const gone = new Set(this.#leaving.map(({ activityId }) => activityId))
    const isUnwanted = (record: number) =>
      slots[slotOf(buyers.uid[record] as number)] === SLOT.foreign ||
      gone.has(skus.activityId[buyers.sku[record] as number] as number)
    if (!forgetSome(this.decider, walk, FORGOTTEN_PER_TICK, isUnwanted)) return
    const isDone = walk.busy === 0 && this.#leaving.every((keeper) => keeper.isIdle)
    this.#forgetting = isDone ? undefined : { from: 0, busy: 0 }
    if (!isDone || this.#leaving.length === 0) return
    for (const keeper of this.#leaving) for (const { sku } of keeper.skus.values()) skus.remove(sku)
    this.#leaving = []
    this.applyCatalog()
  }

  #applySlots(): void {
    const table = this.#parts.catalog.slotTable()
    if (table === undefined || table.epoch === this.#epoch) return
    const { slots } = this.decider
    let [gained, lost] = [0, 0]
    for (let slot = 0; slot < SLOT_COUNT; slot++) {
      const isOwn = table.nodes[table.owners[slot] ?? -1]?.id === this.#settings.nodeId
      if (isOwn && slots[slot] !== SLOT.own) gained++
      if (!isOwn && slots[slot] === SLOT.own) lost++
      slots[slot] = isOwn ? SLOT.own : SLOT.foreign
    }
    this.#epoch = table.epoch
    this.#owners = new Set(table.owners).size
    for (const keeper of this.#keepers.values()) keeper.applySlots(table.epoch)
    this.#parts.logger.info({ epoch: table.epoch, gained, lost, owners: this.#owners }, 'slot table applied')
    if (lost === 0) return
    this.desk.onSlotsLost()
    this.#forgetting = { from: 0, busy: 0 }
  }
}

function isLive({ state }: ActivityDoc): boolean {
  return state !== 'draft' && state !== 'archived'
}
