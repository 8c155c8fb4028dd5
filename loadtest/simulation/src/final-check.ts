/** What must hold when the sale is over, all faults have ended and all has settled. */

import { decodeGrantEvent } from '@bigtap/protocol'
import type { Platform } from './platform/platform.ts'

/** Checks the end of a run. */
export function checkEnd(platform: Platform): void {
  const { oracle } = platform.site
  oracle.audit()
  checkFronts(platform)
  checkRecord(platform)
  checkBuyers(platform)
  checkPlaces(platform)
  checkReleaseLog(platform)
}

/** Does every front hold the newest revision? The last thing that was published may be a moment old. */
export function areFrontsLevel(platform: Platform): boolean {
  return platform.fronts().every(({ mirror }) => mirror.revision === newestOf(platform))
}

function newestOf({ site }: Platform): number {
  return Number(site.redis.model.keys.strings.get('bt:{catalog}:revision') ?? 0)
}

/** Every front holds the newest revision, and the same. */
function checkFronts(platform: Platform): void {
  const { world } = platform.site
  const newest = newestOf(platform)
  const digests = new Set<string>()
  for (const { process, mirror } of platform.fronts()) {
    if (mirror.revision !== newest) world.violate(`${process.id} holds revision ${mirror.revision}, not ${newest}`)
    digests.add(mirror.digest)
  }
  if (digests.size > 1) world.violate(`fronts hold different documents: ${[...digests].join(' ')}`)
}

/** PostgreSQL and the ledger agree, and nothing was sold twice. */
function checkRecord({ site: { world, record, oracle, sale } }: Platform): void {
  const counts = new Map(record.countsBySku(sale.activity.id).map((row) => [row.skuId, row]))
  for (const { id, stock } of sale.skus) {
    const figures = oracle.figures(id)
    const units = counts.get(id)?.units
    const [held, paid] = [units?.held ?? 0, units?.paid ?? 0]
    if (held + paid > stock) world.violate(`sku ${id} has ${held} held and ${paid} paid of ${stock} in postgres`)
    if (held !== figures.held || paid !== figures.sold)
      world.violate(`sku ${id}: ledger ${figures.held} held ${figures.sold} sold, postgres ${held} and ${paid}`)
  }
}

/** What a buyer was told is so. */
function checkBuyers({ site: { world, record, oracle } }: Platform): void {
  for (const [orderId, { uid, isPaid }] of oracle.told) {
    const row = record.orders.get(orderId)
    if (row === undefined && !oracle.isForgotten(orderId)) world.violate(`order ${orderId} of buyer ${uid} is lost`)
    if (isPaid && row?.state !== 'paid') world.violate(`order ${orderId} was paid and is ${row?.state ?? 'lost'}`)
  }
}

/** Every grant is in the release log, whatever was away and whoever died meanwhile. */
function checkReleaseLog({ site: { world, eventLog, oracle } }: Platform): void {
  const released = new Set(eventLog.grants.map(({ value }) => decodeGrantEvent(value).tokenId))
  for (const tokenId of oracle.written())
    if (!released.has(tokenId)) world.violate(`token ${tokenId} was granted and is not in the release log`)
}

/** No place is left behind: all units are sold, so no token may be out and no node may keep what the pool needs. */
function checkPlaces({ site: { world, oracle, sale } }: Platform): void {
  for (const { id, stock } of sale.skus) {
    const { sold, redeemed, free } = oracle.figures(id)
    if (sold !== stock || redeemed !== stock || free !== 0)
      world.violate(`sku ${id}: ${sold} sold, ${redeemed} places redeemed, ${free} free of ${stock}`)
  }
}
