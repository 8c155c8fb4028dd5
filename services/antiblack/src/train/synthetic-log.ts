/** Labelled logs made up from a seed: training works without a sale. */

import { type Draw, seeded, whole } from './chance.ts'
import type { Label, LabelledLog } from './labelled-log.ts'
import * as people from './synthetic-people.ts'
import { type Asker, SyntheticSale } from './synthetic-sale.ts'

/** How many of each come to a made-up sale. */
const COUNTS: readonly (readonly [profile: string, count: number])[] = [
  ['normal', 420],
  ['refresher', 90],
  ['shared', 190],
  ['script', 240],
  ['farm', 240],
  ['sharer', 30],
  ['guesser', 60],
  ['slow', 30],
]
const HONEST: readonly string[] = ['normal', 'refresher', 'shared']
const UID_BASE = 10_000_000
const UIDS_PER_LOG = 100_000
const MACHINES_PER_ADDRESS = 80

/** One sale: the log and who is who. */
export function syntheticLog(seed: number): LabelledLog {
  const draw = seeded(seed * 2 + 1)
  const sale = new SyntheticSale(draw)
  const labels = new Map<number, Label>()
  const origins = new Origins(draw)
  let uid = UID_BASE + (seed % UID_BASE) * UIDS_PER_LOG
  for (const [profile, count] of COUNTS) {
    for (let index = 0; index < count; index++) {
      const asker = { uid: ++uid, skuId: sale.sku(), ...origins.of(profile) }
      labels.set(uid, { uid, profile, isAbusive: !HONEST.includes(profile) })
      walkOf(profile)(asker, sale)
    }
  }
  const batches = sale.batches()
  return { labels, batches: () => batches }
}

function walkOf(profile: string): people.Walk {
  const { normal, refresher, script, farm, sharer, guesser, slow } = people
  const walks: Readonly<Record<string, people.Walk>> = { normal, refresher, script, farm, sharer, guesser, slow }
  return walks[profile] ?? normal
}

/** Where the made-up askers sit. */
class Origins {
  readonly #draw: Draw
  readonly #shared: string[]
  readonly #centre: string
  readonly #farmAddresses: string[]
  readonly #farmDevices: number[]
  /** Do some scripts sit behind the address that many people share? */
  readonly #isMixed: boolean
  #machine: Omit<Asker, 'uid' | 'skuId'> = { addresses: [], device: 0 }
  #seats = 0

  constructor(draw: Draw) {
    this.#draw = draw
    this.#shared = Array.from({ length: whole(draw, 1, 2) }, () => people.homeOf(draw))
    this.#centre = `185.${whole(draw, 0, 255)}.${whole(draw, 0, 255)}`
    this.#farmAddresses = Array.from({ length: 90 }, (_, index) =>
      index % 2 === 0 ? `${this.#centre}.${whole(draw, 1, 254)}` : people.homeOf(draw),
    )
    this.#farmDevices = Array.from({ length: 3 }, () => Math.floor(draw() * 2 ** 53))
    this.#isMixed = draw() < 0.4
  }

  of(profile: string): Omit<Asker, 'uid' | 'skuId'> {
    const draw = this.#draw
    const device = people.deviceOf(draw)
    if (profile === 'shared') return { addresses: [people.addressOf(draw, this.#shared)], device }
    if (profile === 'farm') {
      const addresses = Array.from({ length: whole(draw, 3, 5) }, () => people.addressOf(draw, this.#farmAddresses))
      return { addresses, device: this.#farmDevices[whole(draw, 0, 2)] ?? 0 }
    }
    if (profile === 'sharer')
      return { addresses: Array.from({ length: whole(draw, 8, 30) }, () => people.homeOf(draw)), device }
    if (profile === 'normal' || profile === 'refresher') return { addresses: people.homesOf(draw), device }
    if (this.#isMixed && draw() < 0.1) return { addresses: [people.addressOf(draw, this.#shared)], device }
    return this.#onMachine()
  }

  #onMachine(): Omit<Asker, 'uid' | 'skuId'> {
    const draw = this.#draw
    if (this.#seats-- <= 0) {
      this.#seats = MACHINES_PER_ADDRESS
      const device = draw() < 0.5 ? 0 : Math.floor(draw() * 2 ** 53)
      this.#machine = { addresses: [`${this.#centre}.${whole(draw, 1, 254)}`], device }
    }
    return this.#machine
  }
}
