/** Paths that no page links to and no client of ours knows: who asks for one is looking for a way around. */

/** Guesses at a purchase without a ticket, and at what is none of a buyer's business. */
export const HONEYPOT_PATHS: ReadonlySet<string> = new Set([
  '/buy',
  '/v1/buy',
  '/v1/buy/',
  '/v1/order',
  '/v1/orders/create',
  '/v1/seckill',
  '/v1/secret',
  '/v1/ticket',
  '/v1/tickets',
  '/v1/token',
  '/v1/admin',
  '/v2/buy',
  '/api/buy',
  '/admin',
  '/admin/login',
  '/.env',
  '/.git/config',
  '/wp-login.php',
])

/** `/v1/activities/7/skus/1/buy` and the like: the shape of a path call with another last word. */
const GUESSED = /^\/v1\/activities\/\d{1,10}\/skus\/\d{1,10}\/(?:buy|order|purchase|ticket|token|secret)$/

/** Is this path a trap? For paths that are no route of ours. */
export function isHoneypot(path: string): boolean {
  return HONEYPOT_PATHS.has(path) || GUESSED.test(path)
}
