/** How the made-up people and machines of a sale behave; the crowd of the load test is another hand's work, and behaves by its own rules. */

import { ACCESS_CALL, ACCESS_FLAG, ACCESS_OUTCOME, type AccessOutcome } from '@bigtap/protocol'
import { between, type Draw, oneOf, whole } from './chance.ts'
import type { Asker, SyntheticSale } from './synthetic-sale.ts'

const ENDS: readonly AccessOutcome[] = [ACCESS_OUTCOME.granted, ACCESS_OUTCOME.soldOut]
const WAIT_MS_MIN = 50
const PATIENCE_MS = 60_000
const NOTHING_TOLD_MS = 500
const ASKS_MAX = 400

/** Walks one asker through the sale. */
export type Walk = (asker: Asker, sale: SyntheticSale) => void

/** Waits as told; some click twice. */
export const normal: Walk = (asker, sale) => {
  person(asker, sale, { clicks: sale.draw() < 0.2 ? 2 : 1, refreshMs: 0 })
}

/** Reloads the page once or twice a second when it is told to wait for longer. */
export const refresher: Walk = (asker, sale) => {
  person(asker, sale, { clicks: whole(sale.draw, 1, 2), refreshMs: between(sale.draw, 500, 1_500) })
}

/** Asks at its own beat from one address, whatever it is told. */
export const script: Walk = (asker, sale) => {
  const { draw } = sale
  const terms = { everyMs: between(draw, 100, 400), clicks: whole(draw, 1, 3), rounds: whole(draw, 6, 40) }
  fire(asker, sale, machineArrival(sale), terms)
}

/** Slower than a script, from several addresses in turn; many of them at the same instants. */
export const farm: Walk = (asker, sale) => {
  const { draw } = sale
  const waves = (sale.soldOutAt - sale.opensAt) / 2_000
  const at = sale.opensAt + whole(draw, 0, Math.floor(waves)) * 2_000 + between(draw, 0, 40)
  fire(asker, sale, at, { everyMs: between(draw, 400, 1_500), clicks: 1, rounds: whole(draw, 4, 20) })
}

/** One account in many hands: each asks from its own address at its own beat. */
export const sharer: Walk = (asker, sale) => {
  const { draw } = sale
  for (const address of asker.addresses) {
    const hand = { ...asker, addresses: [address], device: deviceOf(draw) }
    fire(hand, sale, machineArrival(sale), {
      everyMs: between(draw, 400, 1_000),
      clicks: whole(draw, 1, 2),
      rounds: whole(draw, 3, 6),
    })
  }
}

/** Tries tickets and paths that nobody gave it. */
export const guesser: Walk = (asker, sale) => {
  const { draw } = sale
  let at = machineArrival(sale)
  const [everyMs, rounds] = [between(draw, 100, 500), whole(draw, 6, 40)]
  for (let round = 0; round < rounds; round++, at += everyMs + sale.latency()) {
    if (draw() < 0.35) {
      const unknown = { outcome: ACCESS_OUTCOME.notFound, toldMs: 0 }
      sale.note(asker, at, ACCESS_CALL.other, unknown, draw() < 0.1 ? ACCESS_FLAG.honeypot : 0, round)
      continue
    }
    if (draw() < 0.6) sale.path(asker, at, round)
    const flags = draw() < 0.7 ? ACCESS_FLAG.badSignature : ACCESS_FLAG.foreignTicket
    sale.note(asker, at + 2, ACCESS_CALL.buy, { outcome: ACCESS_OUTCOME.badTicket, toldMs: 0 }, flags, round)
  }
}

/** Holds requests open until they are cut off. */
export const slow: Walk = (asker, sale) => {
  let at = machineArrival(sale)
  const rounds = whole(sale.draw, 1, 6)
  for (let round = 0; round < rounds; round++, at += between(sale.draw, 3_000, 8_000)) {
    sale.note(asker, at, ACCESS_CALL.buy, { outcome: ACCESS_OUTCOME.badRequest, toldMs: 0 }, 0)
  }
}

/** A device with a name of its own; some do not say one. */
export function deviceOf(draw: Draw): number {
  return draw() < 0.1 ? 0 : Math.floor(draw() * 2 ** 53)
}

interface Person {
  readonly clicks: number
  readonly refreshMs: number
}

function person(asker: Asker, sale: SyntheticSale, { clicks, refreshMs }: Person): void {
  const { draw } = sale
  let at = draw() < 0.15 ? sale.opensAt - draw() * 1_500 : sale.opensAt - Math.log(1 - draw()) * 4_000
  let turn = 0
  const until = at + PATIENCE_MS
  // Many press the button again and again at first, whatever it says.
  const hurries = draw() < 0.3 ? whole(draw, 1, 6) : 0
  const hurryMs = between(draw, 250, 800)
  // Few people change their address, between two networks, and each only seldom.
  const next = () => (draw() < 0.05 ? turn++ : turn)
  const early = sale.path(asker, at, turn)
  at += Math.max(early.toldMs, 0) + sale.latency() + between(draw, 0, 60)
  if (early.toldMs > 0) sale.path(asker, at, turn)
  for (let asks = 0; at < until && asks < ASKS_MAX; asks++) {
    let [told, isEnd] = [NOTHING_TOLD_MS, false]
    for (let click = 0; click < clicks; click++) {
      const answer = sale.buy(asker, at + click * (draw() * 25 + Math.min(300, sale.latency())), turn)
      told = answer.toldMs
      isEnd ||= ENDS.includes(answer.outcome)
    }
    if (isEnd && !(refreshMs > 0 && draw() < 0.3)) return
    if (asks < hurries) {
      at += hurryMs * between(draw, 0.8, 1.2) + sale.latency()
      continue
    }
    const waitMs = refreshMs > 0 ? Math.min(told || NOTHING_TOLD_MS, refreshMs * between(draw, 0.8, 1.3)) : told
    at += Math.max(WAIT_MS_MIN, waitMs) + sale.latency()
    if (refreshMs > 0) {
      sale.path(asker, at, turn)
      at += sale.latency()
    }
    next()
  }
}

interface Beat {
  readonly everyMs: number
  readonly clicks: number
  readonly rounds: number
}

function fire(asker: Asker, sale: SyntheticSale, from: number, { everyMs, clicks, rounds }: Beat): void {
  let [at, turn, hasPath] = [from, 0, false]
  for (let round = 0; round < rounds; round++) {
    if (!hasPath) {
      hasPath = sale.path(asker, at, turn++).outcome === ACCESS_OUTCOME.ok
      at += sale.latency()
    }
    if (hasPath) {
      const answers = Array.from({ length: clicks }, () => sale.buy(asker, at + sale.draw() * 15, turn++))
      if (answers.some(({ outcome }) => ENDS.includes(outcome))) return
    }
    at += everyMs + sale.latency() + sale.machineLag()
  }
}

function machineArrival(sale: SyntheticSale): number {
  return between(sale.draw, sale.opensAt - 500, sale.soldOutAt - 3_000)
}

/** An address of one of many networks. */
export function homeOf(draw: Draw): string {
  return `${whole(draw, 20, 90)}.${whole(draw, 0, 255)}.${whole(draw, 0, 255)}.${whole(draw, 1, 254)}`
}

/** Some addresses of one person: nearly always one. */
export function homesOf(draw: Draw): string[] {
  const count = draw() < 0.95 ? 1 : whole(draw, 2, 3)
  return Array.from({ length: count }, () => homeOf(draw))
}

/** One of a list of addresses. */
export function addressOf(draw: Draw, list: readonly string[]): string {
  return oneOf(draw, list, '192.0.2.1')
}
