/** Identities. All numbers are whole, from 1 to 2^53 - 1 (docs/adr/0001). */

declare const brand: unique symbol

/** A buyer. */
export type Uid = number & { readonly [brand]?: 'uid' }
/** An activity: one sale. */
export type ActivityId = number & { readonly [brand]?: 'activity' }
/** A product within an activity. */
export type SkuId = number & { readonly [brand]?: 'sku' }
/** A grant's token: 32 lower-case hexadecimal digits. */
export type TokenId = string & { readonly [brand]?: 'token' }
/** An order: `o` and the token id that it came from, so that one token can make one order only. */
export type OrderId = string & { readonly [brand]?: 'order' }

const TOKEN_ID = /^[0-9a-f]{32}$/
const ORDER_ID = /^o[0-9a-f]{32}$/

/** A whole number from 1 to 2^53 - 1, given as such or as decimal digits; undefined otherwise. */
export function parseId(value: unknown): number | undefined {
  if (typeof value === 'string') return /^[1-9][0-9]{0,15}$/.test(value) ? parseId(Number(value)) : undefined
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 ? value : undefined
}

/** Is this text a token id? */
export function isTokenId(value: unknown): value is TokenId {
  return typeof value === 'string' && TOKEN_ID.test(value)
}

/** Is this text an order id? */
export function isOrderId(value: unknown): value is OrderId {
  return typeof value === 'string' && ORDER_ID.test(value)
}

/** The one order that a token can become. */
export function orderIdOf(tokenId: TokenId): OrderId {
  return `o${tokenId}`
}
