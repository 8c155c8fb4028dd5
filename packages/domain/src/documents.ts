/** The documents of the catalog: what a sale is, as JSON. Each parser refuses a bad document whole, with all errors. */

import { SLOT_COUNT } from '@bigtap/kernel'
import { type ChallengeDoc, NO_CHALLENGE, parseChallenge } from './challenge.ts'
import { Fields, type Parsed, show } from './checks.ts'
import type { ActivityId, SkuId } from './ids.ts'
import {
  ADMISSIONS,
  type Admission,
  DEFAULT_WAITING,
  type LineView,
  parseLineView,
  parseWaiting,
  type WaitingDoc,
} from './waiting.ts'

/** How much one buyer may buy in an activity; units are limited by the SKU's `limitPerBuyer`. */
export type PurchaseRule = 'unlimited' | 'one-product-per-activity' | 'once-per-product'

/** The life of an activity (see `activityStep`). */
export type ActivityState = 'draft' | 'scheduled' | 'preloading' | 'armed' | 'open' | 'paused' | 'closed' | 'archived'

/** The inner layers of an activity that are open, from the inside out; the limiter opens last, by its own clock. */
export type ActivityStage = 'shut' | 'counter' | 'cart' | 'middle'

/** How a SKU is released. Paces are units per second for the whole cluster, null is no pace; times in seconds. */
export interface Policy {
  readonly pacePerSecond: number | null
  /** Share of the stock at which the release tapers, 0..1. */
  readonly taperAt: number
  readonly taperPacePerSecond: number | null
  /** Free units at which single units trickle out. */
  readonly trickleAt: number
  /** Places in the quota for each unit, 1..10. */
  readonly overbook: number
  readonly holdSeconds: number
  readonly tokenSeconds: number
}

/** A limit of access (3-sale-model, Limiter). */
export interface AccessLimit {
  readonly scope: 'uid' | 'ip' | 'subnet' | 'sku' | 'global'
  readonly algorithm: 'fixed-window' | 'sliding-window' | 'leaky-bucket' | 'token-bucket'
  readonly seconds: number
  readonly maxCount: number
  readonly burst?: number
}

/** Who may join: everybody, or those who reserved between two times. */
export interface ReservationDoc {
  readonly required: boolean
  readonly opensAt: number
  readonly closesAt: number
}

/** Document `activity:A`. Times in ms since the epoch. */
export interface ActivityDoc {
  readonly id: ActivityId
  readonly title: string
  readonly state: ActivityState
  readonly stage: ActivityStage
  readonly opensAt: number
  readonly closesAt: number
  readonly rule: PurchaseRule
  readonly admission: Admission
  readonly waiting: WaitingDoc
  readonly challenge: ChallengeDoc
  readonly reservation: ReservationDoc
  readonly skuIds: readonly SkuId[]
  readonly accessLimits: readonly AccessLimit[]
}

/** Document `sku:A:S`. */
export interface SkuDoc {
  readonly id: SkuId
  readonly activityId: ActivityId
  readonly title: string
  readonly priceCents: number
  readonly currency: string
  readonly imageUrl: string
  readonly stock: number
  readonly limitPerBuyer: number
  readonly policy: Policy
  readonly paused: boolean
}

/** Document `status:A:S`: what the ledger says, for the fronts; `at` is when, ms since the epoch. */
export interface StatusDoc {
  readonly activityId: ActivityId
  readonly skuId: SkuId
  readonly soldOut: boolean
  readonly exhausted: boolean
  readonly free: number
  readonly held: number
  readonly sold: number
  readonly at: number
  /** How its line stands; absent where it has none. */
  readonly line?: LineView
}

/** Document `slots`: which node owns each of the 1,024 slots, as an index into `nodes`. */
export interface SlotTableDoc {
  readonly epoch: number
  readonly nodes: readonly { readonly id: string; readonly address: string }[]
  readonly owners: readonly number[]
}

/** Key of the slot table. */
export const SLOTS_KEY = 'slots'
/** Key of an activity's document. */
export const activityKey = (activityId: ActivityId) => `activity:${activityId}`
/** Key of a SKU's document. */
export const skuKey = (activityId: ActivityId, skuId: SkuId) => `sku:${activityId}:${skuId}`
/** Key of a SKU's status. */
export const statusKey = (activityId: ActivityId, skuId: SkuId) => `status:${activityId}:${skuId}`

/** The states of an activity. */
export const ACTIVITY_STATES: readonly ActivityState[] = [
  'draft',
  'scheduled',
  'preloading',
  'armed',
  'open',
  'paused',
  'closed',
  'archived',
]
/** The stages of an activity, each with one layer more than the one before. */
export const ACTIVITY_STAGES: readonly ActivityStage[] = ['shut', 'counter', 'cart', 'middle']
/** The purchase rules. */
export const PURCHASE_RULES: readonly PurchaseRule[] = ['unlimited', 'one-product-per-activity', 'once-per-product']
/** The policy of a SKU that names none. */
export const DEFAULT_POLICY: Policy = {
  pacePerSecond: null,
  taperAt: 0.1,
  taperPacePerSecond: null,
  trickleAt: 0,
  overbook: 1,
  holdSeconds: 900,
  tokenSeconds: 60,
}
/** Nobody needs a reservation. */
export const NO_RESERVATION: ReservationDoc = { required: false, opensAt: 0, closesAt: 0 }
/** Most units of one SKU. */
export const STOCK_MAX = 10_000_000
/** Most SKUs of one activity. */
export const SKUS_MAX = 1_000

const NO_LINE: LineView = { cursor: 0, joined: 0, waiting: 0, perSecond: 0 }
const TITLE_LENGTH_MAX = 200
const URL_LENGTH_MAX = 500
const CURRENCY = /^[A-Z]{3}$/
// Shown in pages: no other scheme, and none that a leading `//` would borrow.
const IMAGE_URL = new RegExp(`^(?=.{0,${URL_LENGTH_MAX}}$)(?:https?://[^\\s"'<>]+|/(?!/)[^\\s"'<>]*)?$`)
const LIMITS_MAX = 16
const NODES_MAX = 256
const ADDRESS = /^[^:\s]+:(\d{1,5})$/
const PACE_MAX = 1_000_000
const PRICE_MAX = 1_000_000_000

/** Reads a policy; what it does not name has the default. */
export function parsePolicy(value: unknown, path = ''): Parsed<Policy> {
  const fields = new Fields(value, path)
  return fields.done({
    pacePerSecond: fields.numberOrNull('pacePerSecond', { min: 0.01, max: PACE_MAX, fraction: true }),
    taperAt: fields.number('taperAt', { min: 0, max: 1, fraction: true, initial: DEFAULT_POLICY.taperAt }),
    taperPacePerSecond: fields.numberOrNull('taperPacePerSecond', { min: 0.01, max: PACE_MAX, fraction: true }),
    trickleAt: fields.number('trickleAt', { min: 0, max: STOCK_MAX, initial: DEFAULT_POLICY.trickleAt }),
    overbook: fields.number('overbook', { min: 1, max: 10, fraction: true, initial: DEFAULT_POLICY.overbook }),
    holdSeconds: fields.number('holdSeconds', { min: 1, max: 604_800, initial: DEFAULT_POLICY.holdSeconds }),
    tokenSeconds: fields.number('tokenSeconds', { min: 1, max: 3_600, initial: DEFAULT_POLICY.tokenSeconds }),
  })
}

/** Reads an access limit. */
export function parseAccessLimit(value: unknown, path = ''): Parsed<AccessLimit> {
  const fields = new Fields(value, path)
  const limit = {
    scope: fields.oneOf('scope', ['uid', 'ip', 'subnet', 'sku', 'global'] as const),
    algorithm: fields.oneOf('algorithm', ['fixed-window', 'sliding-window', 'leaky-bucket', 'token-bucket'] as const),
    seconds: fields.number('seconds', { min: 0.001, max: 86_400, fraction: true }),
    maxCount: fields.number('maxCount', { min: 1, max: 1_000_000_000 }),
  }
  if (fields.raw('burst') === undefined) return fields.done(limit)
  return fields.done({ ...limit, burst: fields.number('burst', { min: 1, max: 1_000_000_000 }) })
}

/** Reads the times of reservation. */
export function parseReservation(value: unknown, path = ''): Parsed<ReservationDoc> {
  const fields = new Fields(value, path)
  const doc = {
    required: fields.boolean('required', false),
    opensAt: fields.time('opensAt'),
    closesAt: fields.time('closesAt'),
  }
  const isNever = doc.required ? doc.closesAt <= doc.opensAt : doc.closesAt < doc.opensAt
  if (isNever) fields.errors.push(`${path}: closesAt ${doc.closesAt} is not after opensAt ${doc.opensAt}`)
  return fields.done(doc)
}

/** Reads document `activity:A`. */
export function parseActivityDoc(value: unknown): Parsed<ActivityDoc> {
  const fields = new Fields(value)
  const doc: ActivityDoc = {
    id: fields.id('id'),
    title: fields.text('title', TITLE_LENGTH_MAX),
    state: fields.oneOf('state', ACTIVITY_STATES),
    stage: fields.oneOf('stage', ACTIVITY_STAGES, 'middle'),
    opensAt: fields.time('opensAt'),
    closesAt: fields.time('closesAt'),
    rule: fields.oneOf('rule', PURCHASE_RULES),
    admission: fields.oneOf('admission', ADMISSIONS, 'direct'),
    waiting: fields.nested('waiting', parseWaiting, DEFAULT_WAITING),
    challenge: fields.nested('challenge', parseChallenge, NO_CHALLENGE),
    reservation: fields.nested('reservation', parseReservation, NO_RESERVATION),
    skuIds: fields.list('skuIds', SKUS_MAX, readId),
    accessLimits: fields.list('accessLimits', LIMITS_MAX, parseAccessLimit),
  }
  if (doc.closesAt <= doc.opensAt) fields.errors.push(`closesAt ${doc.closesAt} is not after opensAt ${doc.opensAt}`)
  if (hasTwice(doc.skuIds)) fields.errors.push('skuIds names a product twice')
  return fields.done(doc)
}

/** Reads document `sku:A:S`. */
export function parseSkuDoc(value: unknown): Parsed<SkuDoc> {
  const fields = new Fields(value)
  return fields.done({
    id: fields.id('id'),
    activityId: fields.id('activityId'),
    title: fields.text('title', TITLE_LENGTH_MAX),
    priceCents: fields.number('priceCents', { min: 0, max: PRICE_MAX }),
    currency: fields.textLike('currency', CURRENCY, 'three capital letters (ISO 4217)'),
    imageUrl: fields.textLike(
      'imageUrl',
      IMAGE_URL,
      `an http(s) address or a path of at most ${URL_LENGTH_MAX} characters`,
      '',
    ),
    stock: fields.number('stock', { min: 0, max: STOCK_MAX }),
    limitPerBuyer: fields.number('limitPerBuyer', { min: 1, max: 1_000, initial: 1 }),
    policy: fields.nested('policy', parsePolicy, DEFAULT_POLICY),
    paused: fields.boolean('paused', false),
  })
}

/** Reads document `status:A:S`. */
export function parseStatusDoc(value: unknown): Parsed<StatusDoc> {
  const fields = new Fields(value)
  const units = { min: 0, max: STOCK_MAX }
  const line = fields.raw('line') === undefined ? {} : { line: fields.nested('line', parseLineView, NO_LINE) }
  return fields.done({
    ...line,
    activityId: fields.id('activityId'),
    skuId: fields.id('skuId'),
    soldOut: fields.boolean('soldOut'),
    exhausted: fields.boolean('exhausted'),
    free: fields.number('free', units),
    held: fields.number('held', units),
    sold: fields.number('sold', units),
    at: fields.time('at'),
  })
}

/** Reads document `slots`. */
export function parseSlotTableDoc(value: unknown): Parsed<SlotTableDoc> {
  const fields = new Fields(value)
  const doc = {
    epoch: fields.id('epoch'),
    nodes: fields.list('nodes', NODES_MAX, readNode),
    owners: fields.list('owners', SLOT_COUNT, readOwner),
  }
  if (doc.owners.length !== SLOT_COUNT) fields.errors.push(`owners has ${doc.owners.length} entries, not ${SLOT_COUNT}`)
  if (hasTwice(doc.nodes.map(({ id }) => id))) fields.errors.push('nodes names a node twice')
  const stray = doc.owners.find((owner) => owner >= doc.nodes.length)
  if (stray !== undefined) fields.errors.push(`owner ${stray} is not one of ${doc.nodes.length} nodes`)
  return fields.done(doc)
}

function readNode(value: unknown, path: string): Parsed<{ id: string; address: string }> {
  const fields = new Fields(value, path)
  const node = { id: fields.text('id', 64), address: fields.text('address', 128) }
  const port = Number(ADDRESS.exec(node.address)?.[1])
  if (!(port >= 1 && port <= 65_535)) fields.errors.push(`${path}.address must be host:port, not ${show(node.address)}`)
  return fields.done(node)
}

function readOwner(value: unknown, path: string): Parsed<number> {
  const isGood = Number.isInteger(value) && (value as number) >= 0 && (value as number) < NODES_MAX
  return isGood ? { ok: true, value: value as number } : { ok: false, errors: [`${path} is ${show(value)}`] }
}

function readId(value: unknown, path: string): Parsed<number> {
  const isGood = Number.isSafeInteger(value) && (value as number) >= 1
  return isGood ? { ok: true, value: value as number } : { ok: false, errors: [`${path} is ${show(value)}`] }
}

function hasTwice(values: readonly unknown[]): boolean {
  return new Set(values).size < values.length
}
