/** Which service answers which path of the public origin, as an ingress would route them. Pure. */

/** Where a request goes. */
export type Target = 'limiter' | 'cart' | 'order' | 'storefront'

const PREFIXES: readonly [prefix: string, target: Target][] = [
  ['/v1/cart', 'cart'],
  ['/v1/orders', 'order'],
  ['/v1/payments', 'order'],
  ['/v1/sandbox', 'order'],
  ['/v1/', 'limiter'],
]

/** Routes by the path alone; the query does not count. */
export function targetOf(url: string): Target {
  for (const [prefix, target] of PREFIXES) if (url.startsWith(prefix)) return target
  return 'storefront'
}

/** May this request be sent a second time after its connection was lost before an answer? */
export function isRepeatable(method: string, target: Target): boolean {
  // A buy is one ask per uid and product, and a cart call counts once per token: both may be repeated.
  return method === 'GET' || method === 'HEAD' || target === 'cart'
}
