/** Paths of the buyer API that belong to the limiter. */

/** A path that is ours, with its ids as text. */
export type Route =
  | { readonly name: 'buy'; readonly ticket: string }
  | { readonly name: 'path' | 'queue' | 'draw'; readonly activityId: string; readonly skuId: string }
  | { readonly name: 'activity' | 'reservation'; readonly activityId: string }
  | { readonly name: 'activities' | 'session' | 'time' }

/** The methods of each route; GET brings HEAD where nothing is decided. */
export const METHODS: Readonly<Record<Route['name'], readonly string[]>> = {
  buy: ['GET', 'POST'],
  path: ['GET'],
  queue: ['GET', 'HEAD'],
  draw: ['GET', 'HEAD'],
  activities: ['GET', 'HEAD'],
  activity: ['GET', 'HEAD'],
  time: ['GET', 'HEAD'],
  reservation: ['POST'],
  session: ['POST'],
}

/** What the path of a buy begins with. */
export const BUY_PREFIX = '/v1/buy/'

/** The route of a path (without its query), or undefined. */
export function routeOf(path: string): Route | undefined {
  if (path.startsWith(BUY_PREFIX)) return { name: 'buy', ticket: path.slice(BUY_PREFIX.length) }
  if (path === '/v1/time') return { name: 'time' }
  if (path === '/v1/session') return { name: 'session' }
  if (path === '/v1/activities') return { name: 'activities' }
  const [empty, version, activities, activityId, rest, skuId, last, extra] = path.split('/', 8)
  if (empty !== '' || version !== 'v1' || activities !== 'activities' || !activityId || extra !== undefined)
    return undefined
  if (rest === undefined) return { name: 'activity', activityId }
  if (rest === 'reservation' && skuId === undefined) return { name: 'reservation', activityId }
  if (rest !== 'skus' || !skuId) return undefined
  return last === 'path' || last === 'queue' || last === 'draw' ? { name: last, activityId, skuId } : undefined
}
