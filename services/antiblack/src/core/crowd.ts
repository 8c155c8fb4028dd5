/** All whom the engine counts, by kind. */

import { Buyers } from './buyers.ts'
import { Subjects } from './subjects.ts'

/** The subjects of each kind. */
export interface Crowd {
  readonly uid: Buyers
  readonly ip: Subjects
  readonly subnet: Subjects
  readonly device: Subjects
}

/** Most subjects of each kind that are counted exactly. */
export interface CrowdSize {
  readonly uidsMax: number
  readonly addressesMax: number
  readonly subnetsMax: number
  readonly devicesMax: number
  /** Seeds the hashes, so that nobody can aim at a collision. */
  readonly seed: number
}

/** Bits of the sketches per subject: addresses and devices of a uid; buyers, and bad ones, of the others. */
const BITS = { uid: [64, 32], ip: [512, 512], subnet: [1_024, 1_024], device: [1_024, 1_024] } as const

/** Takes the memory for a crowd. */
export function makeCrowd({ uidsMax, addressesMax, subnetsMax, devicesMax, seed }: CrowdSize): Crowd {
  return {
    uid: new Buyers({ kind: 'uid', places: uidsMax, seed, bits: BITS.uid }),
    ip: new Subjects({ kind: 'ip', places: addressesMax, seed, bits: BITS.ip }),
    subnet: new Subjects({ kind: 'subnet', places: subnetsMax, seed, bits: BITS.subnet }),
    device: new Subjects({ kind: 'device', places: devicesMax, seed, bits: BITS.device }),
  }
}
