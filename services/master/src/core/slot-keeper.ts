/** Which Middle node owns which of the 1,024 slots, while nodes die, hang, join and leave. Pure. */

import type { SlotTableDoc } from '@bigtap/domain'
import { SLOT_COUNT } from '@bigtap/kernel'

/** A Middle node by its heartbeat; `ageMs` by Redis' clock. */
export interface SlotNodeFact {
  readonly id: string
  readonly address: string
  readonly state: 'ready' | 'joining' | 'leaving'
  readonly ageMs: number
}

/** The table in force, and the nodes of role `middle` that Redis has heard. */
export interface SlotFacts {
  readonly table: SlotTableDoc | undefined
  readonly nodes: readonly SlotNodeFact[]
}

/** Times of the keeper, ms. */
export interface SlotKeeperSettings {
  /** Who was silent for longer is dead: five beats of 300 ms. */
  readonly deadMs: number
  /** A node that was ready for this long gets its fair share. */
  readonly steadyMs: number
  /** An owner that was restarted keeps its slots for this long until it is ready. */
  readonly joiningMs: number
  /** An owner that Redis does not know must be missing for this long: an emptied Redis hears the nodes one by one. */
  readonly missingMs: number
  /** After looks stopped for `gapMs` (Redis was away, or master stood still) owners have this long to be heard again. */
  readonly graceMs: number
  readonly gapMs: number
}

/** A table names at most so many nodes; a newcomer beyond them waits until one leaves. */
const SLOT_NODES_MAX = 256

/** As the platform runs it. */
export const SLOT_KEEPER_SETTINGS: SlotKeeperSettings = {
  deadMs: 1_500,
  steadyMs: 1_000,
  joiningMs: 3_000,
  missingMs: 600,
  graceMs: 700,
  gapMs: 1_000,
}

/**
 * Moves slots when, and only when, it must; never waits for the loser, because grants of a slot are fenced in Redis.
 *
 * ```
 *   owner silent > 1.5 s, or gone ──► its slots go to the others at once
 *   owner says leaving            ──► the same, if another is there
 *   owner restarted (joining)     ──► keeps them for 3 s, gets no more
 *   new node ready                ──► listed without slots, so that limiters dial it; after 1 s it gets its share
 *   nobody is ready               ──► the table stays
 * ```
 * Fewest moves: each keeps what it has up to its share, shares differ by one, and the larger ones go to who has most.
 *
 * Wiring: the leader calls `tick` each 200 ms with the newest table and `Nodes.list()` filtered by role, only when that
 * list could be read. A table that comes back is published in the urgent lane and kept (setting `slots` in PostgreSQL);
 * the next tick is given it. At the start the table is the one of the higher epoch, of PostgreSQL and of the catalog, since
 * slots in Redis refuse lower epochs. `undefined` as table is the very first start: once a node was steady for 1 s, all
 * that are ready share the slots.
 */
export class SlotKeeper {
  readonly #settings: SlotKeeperSettings
  readonly #readySince = new Map<string, number>()
  readonly #joiningSince = new Map<string, number>()
  readonly #missingSince = new Map<string, number>()
  #lookedAt = Number.NEGATIVE_INFINITY
  #lookingSince = 0

  constructor(settings: SlotKeeperSettings = SLOT_KEEPER_SETTINGS) {
    this.#settings = settings
  }

  /** One look: the next table, or undefined while the one in force stays. `now` in ms, of any clock. */
  tick(now: number, facts: SlotFacts): SlotTableDoc | undefined {
    if (now - this.#lookedAt > this.#settings.gapMs) this.#lookingSince = now
    this.#lookedAt = now
    const standing = this.#standings(now, facts)
    const sharing = this.#sharing(now, facts, standing)
    if (sharing.length === 0) return undefined
    const owners = share(facts.table, sharing, standing)
    const listed = list(facts, standing, new Set(owners))
    const place = new Map(listed.map(({ id }, index) => [id, index]))
    const next = { nodes: listed, owners: owners.map((id) => place.get(id) ?? 0) }
    const isSame = JSON.stringify(next) === JSON.stringify({ nodes: facts.table?.nodes, owners: facts.table?.owners })
    return isSame ? undefined : { epoch: (facts.table?.epoch ?? 0) + 1, ...next }
  }

  #standings(now: number, { table, nodes }: SlotFacts): Map<string, Standing> {
    const heard = new Map(nodes.map((node) => [node.id, node]))
    const owning = new Set(ownersOf(table))
    const ids = new Set([...heard.keys(), ...owning])
    for (const since of [this.#readySince, this.#joiningSince, this.#missingSince])
      for (const id of since.keys()) if (!ids.has(id)) since.delete(id)
    return new Map([...ids].map((id) => [id, this.#standing(now, id, heard.get(id), owning.has(id))]))
  }

  #standing(now: number, id: string, node: SlotNodeFact | undefined, isOwner: boolean): Standing {
    const { deadMs, joiningMs, missingMs, graceMs } = this.#settings
    const mark = (since: Map<string, number>, is: boolean) => {
      if (!is) since.delete(id)
      else if (!since.has(id)) since.set(id, now)
      return now - (since.get(id) ?? now)
    }
    const isHeard = node !== undefined && node.ageMs <= deadMs
    mark(this.#readySince, isHeard && node.state === 'ready')
    const joiningForMs = mark(this.#joiningSince, isHeard && node.state === 'joining')
    const missingForMs = mark(this.#missingSince, node === undefined)
    if (isHeard && node.state !== 'joining') return node.state
    if (!isOwner) return 'away'
    if (isHeard) return joiningForMs < joiningMs ? 'kept' : 'away'
    const isInGrace = now - this.#lookingSince < graceMs || (node === undefined && missingForMs < missingMs)
    return isInGrace ? 'kept' : 'away'
  }

  /** Who shares what is not kept: ready owners and newcomers that are steady; without any, all that are ready. */
  #sharing(now: number, { table }: SlotFacts, standing: ReadonlyMap<string, Standing>): string[] {
    const ready = [...standing.keys()].filter((id) => standing.get(id) === 'ready').sort()
    const owning = new Set(ownersOf(table))
    const isSteady = (id: string) => now - (this.#readySince.get(id) ?? now) >= this.#settings.steadyMs
    if (table === undefined) return ready.some(isSteady) ? ready.slice(0, SLOT_NODES_MAX) : []
    const sharing = ready.filter((id) => owning.has(id) || isSteady(id))
    const isNeeded = [...owning].some((id) => standing.get(id) === 'away' || standing.get(id) === 'leaving')
    return (sharing.length > 0 || !isNeeded ? sharing : ready).slice(0, SLOT_NODES_MAX)
  }
}

/** `kept` owners keep their slots and get no more; `away` are dead, missing, or nothing to us yet. */
type Standing = 'ready' | 'leaving' | 'kept' | 'away'

/** The owner of each slot, by id. */
function ownersOf(table: SlotTableDoc | undefined): string[] {
  return table === undefined ? [] : table.owners.map((owner) => table.nodes[owner]?.id ?? '')
}

function share(
  table: SlotTableDoc | undefined,
  sharing: readonly string[],
  standing: ReadonlyMap<string, Standing>,
): string[] {
  const before = table === undefined ? Array.from({ length: SLOT_COUNT }, () => '') : ownersOf(table)
  const counts = new Map(sharing.map((id) => [id, 0]))
  for (const id of before) if (counts.has(id)) counts.set(id, (counts.get(id) ?? 0) + 1)
  const kept = before.filter((id) => standing.get(id) === 'kept').length
  const room = roomOf(counts, SLOT_COUNT - kept)
  const take = (id: string) => {
    room.set(id, (room.get(id) ?? 0) - 1)
    return id
  }
  const stay = before.map((id) => {
    if (standing.get(id) === 'kept') return id
    return (room.get(id) ?? 0) > 0 ? take(id) : undefined
  })
  const takers = [...room.keys()]
  return stay.map((id) => id ?? take(takers.find((taker) => (room.get(taker) ?? 0) > 0) ?? ''))
}

/** How many slots each may have: equal shares, the larger ones for those that have most. */
function roomOf(counts: ReadonlyMap<string, number>, slots: number): Map<string, number> {
  const byCount = [...counts].sort(([, a], [, b]) => b - a)
  const larger = slots % byCount.length
  return new Map(byCount.map(([id], rank) => [id, Math.floor(slots / byCount.length) + (rank < larger ? 1 : 0)]))
}

/** The nodes of the table: owners, and all that are ready or leaving, so that links to them stand; known ones first. */
function list(
  { table, nodes }: SlotFacts,
  standing: ReadonlyMap<string, Standing>,
  owning: ReadonlySet<string>,
): { id: string; address: string }[] {
  const addresses = new Map(table?.nodes.map(({ id, address }) => [id, address]))
  const isListed = (id: string) => owning.has(id) || standing.get(id) === 'ready' || standing.get(id) === 'leaving'
  for (const { id, address } of [...nodes].sort((a, b) => a.id.localeCompare(b.id))) addresses.set(id, address)
  const listed = [...addresses].flatMap(([id, address]) => (isListed(id) ? [{ id, address }] : []))
  return listed.length > SLOT_NODES_MAX ? listed.filter(({ id }) => owning.has(id)) : listed
}
