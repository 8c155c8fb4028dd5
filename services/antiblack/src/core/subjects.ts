/** What is counted of the subjects of one kind: their table, with the windows and sketches that run beside it. */

import type { SubjectKind } from '@bigtap/domain'
import { NO_PLACE } from '@bigtap/kernel'
import { DistinctSketch } from './distinct-sketch.ts'
import { FigureWindows } from './figure-windows.ts'
import { SubjectTable } from './subject-table.ts'

/** How the subjects of a kind are counted. */
export interface SubjectsSettings {
  readonly kind: SubjectKind
  readonly places: number
  readonly seed: number
  /** Bits of the two sketches per subject. */
  readonly bits: readonly [number, number]
}

/** One kind's subjects. All columns are taken at the start. */
export class Subjects {
  readonly kind: SubjectKind
  readonly table: SubjectTable
  readonly windows: FigureWindows
  /** Of a uid: addresses. Of the others: buyers. */
  readonly first: DistinctSketch
  /** Of a uid: devices. Of the others: buyers with misdeeds. */
  readonly second: DistinctSketch
  /** Address or subnet at each place, as verdicts name it; empty for uids and devices, whose keys say it. */
  readonly names: string[] = []
  /** Who asked since they were judged last, in the order in which they asked. */
  readonly #touched: Int32Array
  readonly #isTouched: Uint8Array
  #head = 0
  #count = 0

  constructor({ kind, places, seed, bits }: SubjectsSettings) {
    this.kind = kind
    this.table = new SubjectTable(places, seed)
    this.windows = new FigureWindows(places)
    this.first = new DistinctSketch(places, bits[0])
    this.second = new DistinctSketch(places, bits[1])
    this.#touched = new Int32Array(places)
    this.#isTouched = new Uint8Array(places)
  }

  get bytes(): number {
    const parts = [this.table, this.windows, this.first, this.second]
    return parts.reduce((sum, one) => sum + one.bytes, this.#touched.byteLength + this.#isTouched.byteLength)
  }

  /** Takes a row of the subject in: opens its windows, and marks it to be judged. NO_PLACE when it is turned away. */
  open(key: number, at: number): number {
    const place = this.table.use(key, at)
    if (place === NO_PLACE) return place
    if (this.table.isFresh) this.#clear(place)
    this.windows.open(place, at)
    this.#touch(place)
    return place
  }

  /** The next to be judged; NO_PLACE when there is none. */
  nextTouched(): number {
    while (this.#count > 0) {
      const place = this.#touched[this.#head] as number
      this.#head = (this.#head + 1) % this.#touched.length
      this.#count--
      this.#isTouched[place] = 0
      if ((this.table.keys[place] as number) >= 0) return place
    }
    return NO_PLACE
  }

  /** The key of a subject as verdicts name it. */
  nameOf(place: number): string {
    const key = this.table.keys[place] as number
    if (this.kind === 'uid') return String(key)
    return this.kind === 'device' ? key.toString(16) : (this.names[place] ?? '')
  }

  #touch(place: number): void {
    if (this.#isTouched[place] === 1) return
    this.#isTouched[place] = 1
    this.#touched[(this.#head + this.#count) % this.#touched.length] = place
    this.#count++
  }

  #clear(place: number): void {
    this.windows.clear(place)
    this.first.clear(place)
    this.second.clear(place)
  }
}
