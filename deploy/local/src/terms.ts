/** What is put on sale: the terms of the activity and its products, from the options. Pure. */

import type { CrowdSettings } from '@bigtap/crowd/buyer-plan'
import { abuseMsOf } from '@bigtap/crowd/plan-profiles'
import type { StartOptions } from './args.ts'

const SALE_MS_MAX = 180_000
/** A larger crowd on the same cores takes longer at the till. */
const holdSecondsFor = (buyers: number) => 8 + Math.ceil(buyers / 2_000)
const tokenSecondsFor = (buyers: number) => 6 + Math.ceil(buyers / 2_500)
/** The demo sells a small stock in about four seconds, so that a person can watch it; two cores take some 80 orders a second. */
const SELL_OUT_SECONDS_MIN = 4
const ORDERS_PER_SECOND = 80
/** A challenge of the demo takes a few hundredths of a second: all buyers solve theirs on the crowd's one thread. */
const CHALLENGE_TRIES = 500
const DRAW_SECONDS = 5
/** A person clicks, double-clicks and reloads; nobody does so more often for long. */
const UID_LIMIT = { scope: 'uid', algorithm: 'token-bucket', seconds: 1, maxCount: 10, burst: 30 } as const
/** Thousands may sit behind one address: its limit only cuts off what no address of people sends. */
const IP_PER_SECOND_MIN = 500

/** Terms of the activity, as the admin API takes them. Times in ms since the epoch. */
export function activityTerms(options: StartOptions, opensAt: number, closesAt: number): Record<string, unknown> {
  const { profile, admission, challenge, buyers } = options
  const terms = { title: 'Flash sale', opensAt, closesAt, rule: 'once-per-product', admission }
  const drawn = admission === 'draw' ? { waiting: { drawSeconds: DRAW_SECONDS } } : {}
  const challenged = challenge === 'off' ? {} : { challenge: { mode: challenge, tries: CHALLENGE_TRIES } }
  if (profile === undefined) return { ...terms, ...drawn, ...challenged }
  const maxCount = Math.max(IP_PER_SECOND_MIN, Math.ceil(buyers / 20))
  const byIp = { scope: 'ip', algorithm: 'token-bucket', seconds: 1, maxCount, burst: maxCount * 3 } as const
  return { ...terms, ...drawn, ...challenged, accessLimits: [UID_LIMIT, byIp] }
}

/** Terms of product `index`. */
export function skuTerms(options: StartOptions, index: number): Record<string, unknown> {
  const stock = shareOf(options.stock, options.skus, index)
  return {
    title: `Product ${index + 1}`,
    priceCents: 199_900,
    currency: 'CNY',
    stock,
    limitPerBuyer: 1,
    policy: {
      pacePerSecond: Math.max(paceMin(options), Math.ceil(stock / sellOutSeconds(options))),
      holdSeconds: holdSecondsFor(options.buyers),
      tokenSeconds: tokenSecondsFor(options.buyers),
    },
  }
}

/** Spreads the units over the products as evenly as whole numbers allow. */
export function shareOf(stock: number, skus: number, index: number): number {
  return Math.floor(stock / skus) + (index < stock % skus ? 1 : 0)
}

function paceMin({ profile }: StartOptions): number {
  return profile === undefined ? 5 : 1
}

/** How long buyers may come and wait, from the opening, ms. */
export function saleMsMax(options: StartOptions): number {
  return SALE_MS_MAX + attackMs(options)
}

/** With abuse the sale lasts as long as the attack: units that are gone before it comes would prove nothing. */
function sellOutSeconds(options: StartOptions): number {
  return Math.max(SELL_OUT_SECONDS_MIN, options.stock / ORDERS_PER_SECOND, attackMs(options) / 1_000)
}

function attackMs(options: StartOptions): number {
  const { profile } = options
  const crowd: CrowdSettings = options
  return profile === undefined ? 0 : abuseMsOf({ ...crowd, profile })
}
