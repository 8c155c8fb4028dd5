/** Watches each limiter directly: when it opened after the opening time, and when it last turned to sold out. */

import { setTimeout as sleep } from 'node:timers/promises'

/**
 * What the probe measured; ms. `soldOutAfterMs` counts from the opening, the spread is between limiters of one SKU. -1: not seen,
 * as the opening when a challenge stands before the path.
 */
export interface ProbeResult {
  readonly openLateMs: number
  readonly soldOutAfterMs: number
  readonly soldOutSpreadMs: number
}

/** A running probe. */
export interface Probe {
  stop(): ProbeResult
}

interface Target {
  readonly origin: string
  openedAt: number
  readonly soldOutAt: Map<number, number>
}

const OPEN_EVERY_MS = 10
const STATE_EVERY_MS = 100
const OPEN_LEAD_MS = 300
const OPEN_WAIT_MS_MAX = 10_000

/** Starts to watch; `session` is any buyer's. */
export function startProbe(
  sale: { activityId: number; skuIds: readonly number[]; opensAt: number; session: string },
  origins: readonly string[],
): Probe {
  const abort = new AbortController()
  const targets = origins.map((origin): Target => ({ origin, openedAt: 0, soldOutAt: new Map() }))
  for (const target of targets) void watch(target, sale, abort.signal)
  return {
    stop: () => {
      abort.abort()
      return summarize(targets, sale.opensAt)
    },
  }
}

async function watch(
  target: Target,
  sale: { activityId: number; skuIds: readonly number[]; opensAt: number; session: string },
  signal: AbortSignal,
): Promise<void> {
  await sleep(Math.max(0, sale.opensAt - OPEN_LEAD_MS - Date.now()))
  const path = `/v1/activities/${sale.activityId}/skus/${sale.skuIds[0]}/path`
  while (!signal.aborted && target.openedAt === 0 && Date.now() < sale.opensAt + OPEN_WAIT_MS_MAX) {
    const answer = await get(`${target.origin}${path}`, sale.session)
    if (answer?.status === 200 || answer?.status === 410) target.openedAt = Date.now()
    await sleep(OPEN_EVERY_MS)
  }
  while (!signal.aborted) {
    const answer = await get(`${target.origin}/v1/activities/${sale.activityId}`, sale.session)
    for (const sku of (answer?.body?.skus ?? []) as { id: number; soldOut: boolean }[]) noteState(target, sku)
    await sleep(STATE_EVERY_MS)
  }
}

function noteState(target: Target, sku: { id: number; soldOut: boolean }): void {
  if (!sku.soldOut) target.soldOutAt.delete(sku.id)
  else if (!target.soldOutAt.has(sku.id)) target.soldOutAt.set(sku.id, Date.now())
}

async function get(url: string, session: string) {
  try {
    const answer = await fetch(url, {
      headers: { authorization: `Bearer ${session}` },
      signal: AbortSignal.timeout(2_000),
    })
    return { status: answer.status, body: (await answer.json()) as { skus?: unknown } }
  } catch {
    return undefined // a limiter that is being restarted; the next round asks again
  }
}

function summarize(targets: readonly Target[], opensAt: number): ProbeResult {
  const opened = targets.map((target) => target.openedAt).filter((at) => at > 0)
  const bySku = new Map<number, number[]>()
  for (const target of targets) {
    for (const [sku, at] of target.soldOutAt) bySku.set(sku, [...(bySku.get(sku) ?? []), at])
  }
  const all = [...bySku.values()]
  return {
    openLateMs: opened.length === 0 ? -1 : Math.max(0, Math.max(...opened) - opensAt),
    soldOutAfterMs: all.length === 0 ? -1 : Math.max(...all.flat()) - opensAt,
    soldOutSpreadMs: all.length === 0 ? -1 : Math.max(...all.map((times) => Math.max(...times) - Math.min(...times))),
  }
}
