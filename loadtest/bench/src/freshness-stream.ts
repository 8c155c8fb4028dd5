/**
 * An accepted cart → visible on the operator's stream. Real processes, the platform of `npm start`. Baseline: the figures asked
 * of master, one call after the other.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { percentile } from './percentiles.ts'
import type { BenchResult } from './result.ts'
import { type BenchSale, type BenchShop, withShop } from './shop.ts'

const EVENTS = 40
/** Orders come at any moment of the stream's second, ms. */
const APART_MS = { min: 50, max: 450 }
const SEEN_MS_MAX = 10_000

interface Figures {
  readonly id: number
  readonly held: number
}

/** Goal: figures visible <= 2 s p99. */
export async function runStreamFreshness(): Promise<BenchResult[]> {
  const { stream, asked } = await withShop(2, measure)
  return ([50, 99, 100] as const).map((percent) => {
    const [value, baseline] = [percentile(stream, percent), percentile(asked, percent)]
    const name = `freshness of the stream ${percent === 100 ? 'max' : `p${percent}`}`
    return { name, unit: 'ms', value, baseline, ratio: value / baseline, runs: EVENTS }
  })
}

async function measure(shop: BenchShop): Promise<{ stream: number[]; asked: number[] }> {
  const sale = await shop.openSale(1, EVENTS * 2)
  const abort = new AbortController()
  let held = 0
  const watching = watch(shop, sale, abort.signal, (value) => {
    held = value
  })
  const stream = await orderAll(shop, sale, 0, async () => held)
  abort.abort()
  await watching
  const asked = await orderAll(shop, sale, EVENTS, () => heldByCall(shop, sale))
  return { stream, asked }
}

/** Makes orders, and waits for each until `read` knows of it. */
async function orderAll(
  shop: BenchShop,
  sale: BenchSale,
  from: number,
  read: () => Promise<number>,
): Promise<number[]> {
  const delays: number[] = []
  for (let event = 1; event <= EVENTS; event++) {
    const session = await shop.signIn(5_000 + from + event)
    await shop.order(sale, sale.skuIds[0] ?? 0, session)
    const at = performance.now()
    while ((await read()) < from + event) {
      if (performance.now() - at > SEEN_MS_MAX) throw new Error(`order ${event} was not seen in ${SEEN_MS_MAX} ms`)
      await sleep(2)
    }
    delays.push(performance.now() - at)
    await sleep(APART_MS.min + Math.random() * (APART_MS.max - APART_MS.min))
  }
  return delays
}

async function heldByCall({ admin }: BenchShop, { activityId }: BenchSale): Promise<number> {
  const { skus } = await admin.call<{ skus: { held: number }[] }>('GET', `invariants?activityId=${activityId}`)
  return skus[0]?.held ?? 0
}

async function watch(
  { admin }: BenchShop,
  { activityId }: BenchSale,
  signal: AbortSignal,
  onHeld: (held: number) => void,
): Promise<void> {
  let text = ''
  try {
    const answer = await admin.open('stream', signal)
    for await (const chunk of answer.body ?? []) {
      text += Buffer.from(chunk).toString()
      const events = text.split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) {
        const data = /^data: (\{.*)$/m.exec(event)?.[1]
        if (data === undefined) continue
        const { activities } = JSON.parse(data) as { activities?: { id: number; skus: Figures[] }[] }
        const sku = activities?.find(({ id }) => id === activityId)?.skus[0]
        if (sku !== undefined) onHeld(sku.held)
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
