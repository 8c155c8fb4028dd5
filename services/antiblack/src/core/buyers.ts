/** The uids, with what is known of each beside its counts: its pace, and where it was seen last. */

import { NO_PLACE } from '@bigtap/kernel'
import { Pace } from './pace.ts'
import { Subjects, type SubjectsSettings } from './subjects.ts'

/** Columns beside the subjects of kind uid. */
export class Buyers extends Subjects {
  readonly pace: Pace
  /** Keys of the address, the subnet and the device (0 none) that a buyer was seen with last. */
  readonly address: Float64Array
  readonly subnet: Float64Array
  readonly device: Float64Array
  /** Until then the buyer counts as one who misbehaves, ms since the epoch. */
  readonly badUntil: Float64Array

  constructor(settings: SubjectsSettings) {
    super(settings)
    this.pace = new Pace(settings.places)
    this.address = new Float64Array(settings.places)
    this.subnet = new Float64Array(settings.places)
    this.device = new Float64Array(settings.places)
    this.badUntil = new Float64Array(settings.places)
  }

  override get bytes(): number {
    const own = [this.address, this.subnet, this.device, this.badUntil]
    return own.reduce((sum, one) => sum + one.byteLength, super.bytes + this.pace.bytes)
  }

  override open(key: number, at: number): number {
    const place = super.open(key, at)
    if (place !== NO_PLACE && this.table.isFresh) {
      this.pace.clear(place)
      this.badUntil[place] = 0
    }
    return place
  }
}
