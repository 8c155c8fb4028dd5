/** What Middle keeps in Redis: its claim, leased places, grants, and the logs of its slots. */

import type { Figures } from '@bigtap/domain'
import { hasCode } from '@bigtap/kernel'
import type { Store } from './connection.ts'
import { type Guards, metaKey, rootKey } from './guards.ts'
import { figuresOf } from './ledger.ts'
import { type Claimant, Lines } from './lines.ts'
import { loadScript, runScript, type Script } from './script.ts'

/** One grant. `expiresAt` in ms since the epoch. */
export interface Grant {
  readonly tokenId: string
  readonly uid: number
  readonly slot: number
  readonly skuId: number
  readonly quantity: number
  readonly expiresAt: number
}

/** What a replayed grant has become: `gone` ran out unused, or its order was given back. */
export type GrantState = 'outstanding' | 'redeemed' | 'gone'

/** What became of a grant's write: no leased place for it, its slot belongs to another node, or the buyer's turn has not come. */
export type GrantOutcome = 'written' | 'placeless' | 'foreign' | 'uncalled'

/** What became of a claim of a slot; `kept`: this very process has owned it all the while, its log holds nothing new. */
export type SlotClaim = 'refused' | 'taken' | 'kept'

/**
 * A wish for places of one SKU; `pacePerSecond` null is no pace. With a pace: `more` is taken only where the other nodes
 * leave it, and `demandMs` is what buyers wanted here in a tick times the ms since the last call.
 */
export interface LeaseWish {
  readonly skuId: number
  readonly want: number
  readonly more?: number
  readonly giveBack: number
  readonly pacePerSecond: number | null
  readonly demandMs?: number
}

/** What a node holds of one SKU after a lease call, the ledger's figures, and with a pace the demand of all nodes in a tick. `undefined`: the SKU has no ledger. */
export interface Leased {
  readonly held: number
  readonly figures: Figures
  readonly demand: number
}

/** A lease that is not renewed for this long goes back. */
export const LEASE_MS = 1_500
/** One chunk of a pace: no second gets more than the pace and this. */
export const PACE_CHUNK_MS = 50

const FENCED = ['prelude', 'guarded', 'fenced']
const SCRIPTS = {
  claim: loadScript('claim-1', ['prelude', 'guarded', 'leases']),
  lease: loadScript('lease-1', [...FENCED, 'pace']),
  claimSlots: loadScript('claim-slots-1', FENCED),
  grant: loadScript('grant-1', [...FENCED, 'owned']),
  adopt: loadScript('adopt-grants-1', [...FENCED, 'owned']),
}
const REPLAY_CHUNK = 64
const SLOT_CLAIMS: readonly SlotClaim[] = ['refused', 'taken', 'kept']

/** Middle's side of the ledger. Faults as the ledger's, and STALE_FENCE: a newer process has claimed this node's name. */
export class GrantLog {
  /** The lines of those who wait. */
  readonly lines: Lines
  readonly #store: Store
  readonly #guards: Guards

  constructor(store: Store, guards: Guards) {
    this.#store = store
    this.#guards = guards
    this.lines = new Lines(store, guards)
  }

  /** Claims the node's name for this process; older ones are refused from now on and their leases go back. */
  async claim(activityId: number, nodeId: string): Promise<number> {
    return Number(await this.#run(activityId, SCRIPTS.claim, [nodeId]))
  }

  /**
   * Takes the slots that table `epoch` gives to the node, for this activity. What others wrote before stands in the logs
   * (replay them), what they try later is refused. `heldFence` is the fence that this process had before `who.fence`.
   */
  async claimSlots(who: Claimant, slots: readonly number[], epoch: number, heldFence = 0): Promise<SlotClaim[]> {
    const args = [who.nodeId, who.fence, heldFence, epoch, ...slots]
    const replies = (await this.#run(who.activityId, SCRIPTS.claimSlots, args)) as number[]
    return slots.map((_, index) => SLOT_CLAIMS[Number(replies[index])] ?? 'refused')
  }

  /** Leases, gives back and renews in one step. */
  async lease(who: Claimant, wishes: readonly LeaseWish[]): Promise<Map<number, Leased | undefined>> {
    const args: (string | number)[] = [who.nodeId, who.fence, LEASE_MS, PACE_CHUNK_MS]
    for (const { skuId, want, more = 0, giveBack, pacePerSecond, demandMs = 0 } of wishes)
      args.push(skuId, want, more, giveBack, pacePerSecond ?? -1, Math.round(demandMs))
    const replies = (await this.#run(who.activityId, SCRIPTS.lease, args)) as number[][]
    return new Map(wishes.map(({ skuId }, index) => [skuId, leasedOf(replies[index] ?? [])]))
  }

  /** Writes grants of slots that the node has claimed; where the SKU has a line, of buyers whose turn it is. A repeat with the same token id is safe. */
  async grant(who: Claimant, grants: readonly Grant[]): Promise<GrantOutcome[]> {
    const replies = (await this.#run(who.activityId, SCRIPTS.grant, grantArgs(who, grants))) as number[]
    return grants.map((_, index) => outcomeOf(replies[index]))
  }

  /** Puts grants back after Redis lost them; `placeless` where no place is left for one. */
  async adopt(who: Claimant, grants: readonly Grant[]): Promise<GrantOutcome[]> {
    const replies = (await this.#run(who.activityId, SCRIPTS.adopt, grantArgs(who, grants))) as number[]
    return grants.map((_, index) => outcomeOf(replies[index]))
  }

  /** All grants of the given slots with what became of them. */
  async replay(activityId: number, slots: readonly number[]): Promise<{ grant: Grant; state: GrantState }[]> {
    const root = rootKey(activityId)
    const used = new Set((await this.#store.redis.smembers(`${root}slots`)).map(Number))
    const own = slots.filter((slot) => used.has(slot))
    const found: { grant: Grant; state: GrantState }[] = []
    for (let at = 0; at < own.length; at += REPLAY_CHUNK) {
      const chunk = own.slice(at, at + REPLAY_CHUNK)
      const logs = await Promise.all(chunk.map((slot) => this.#store.redis.lrange(`${root}slot:${slot}`, 0, -1)))
      const grants = logs.flatMap((log, index) => log.map((record) => parseGrant(record, chunk[index] ?? 0)))
      const states = await this.states(activityId, grants)
      for (const [index, grant] of grants.entries()) found.push({ grant, state: states[index] ?? 'gone' })
    }
    return found
  }

  /** What became of grants, as the ledger knows it now. */
  async states(activityId: number, grants: readonly Grant[]): Promise<GrantState[]> {
    if (grants.length === 0) return []
    const root = rootKey(activityId)
    const [scores, records] = await Promise.all([
      this.#store.redis.zmscore(`${root}tokens`, ...grants.map(memberOf)),
      this.#store.redis.hmget(`${root}orders`, ...grants.map(({ tokenId }) => `o${tokenId}`)),
    ])
    return grants.map((_, index): GrantState => {
      const record = records[index]
      if (record) return record.startsWith('held') || record.startsWith('paid') ? 'redeemed' : 'gone'
      return scores[index] === null || scores[index] === undefined ? 'gone' : 'outstanding'
    })
  }

  /** Units that buyers hold or have bought, as the ledger knows it now. */
  async units(activityId: number, rows: readonly { uid: number; skuId: number }[]): Promise<number[]> {
    if (rows.length === 0) return []
    const fields = rows.map(({ uid, skuId }) => `${uid}:${skuId}`)
    const values = await this.#store.redis.hmget(`${rootKey(activityId)}buyers`, ...fields)
    return values.map((value) => Number(value ?? 0))
  }

  async #run(activityId: number, script: Script, args: readonly (string | number)[]): Promise<unknown> {
    const guard = await this.#guards.get(activityId)
    try {
      return await runScript(this.#store, script, [metaKey(activityId)], [guard, ...args])
    } catch (error) {
      if (hasCode(error, 'STALE_GUARD')) this.#guards.forget(activityId)
      throw error
    }
  }
}

function grantArgs(who: Claimant, grants: readonly Grant[]): (string | number)[] {
  const args: (string | number)[] = [who.nodeId, who.fence]
  for (const { tokenId, uid, slot, skuId, quantity, expiresAt } of grants)
    args.push(tokenId, uid, slot, skuId, quantity, expiresAt)
  return args
}

function outcomeOf(reply: number | undefined): GrantOutcome {
  if (Number(reply) === 1) return 'written'
  if (Number(reply) === -2) return 'uncalled'
  return Number(reply) === -1 ? 'foreign' : 'placeless'
}

function memberOf({ tokenId, skuId, quantity }: Grant): string {
  return `${tokenId}|${skuId}|${quantity}`
}

function parseGrant(record: string, slot: number): Grant {
  const [tokenId = '', uid, skuId, quantity, expiresAt] = record.split('|')
  return {
    tokenId,
    uid: Number(uid),
    slot,
    skuId: Number(skuId),
    quantity: Number(quantity),
    expiresAt: Number(expiresAt),
  }
}

function leasedOf(reply: readonly number[]): Leased | undefined {
  const [held = -1, ...figures] = reply.map(Number)
  return held < 0 ? undefined : { held, figures: figuresOf(figures.slice(0, 9)), demand: (figures[9] ?? 0) / 1_000 }
}
