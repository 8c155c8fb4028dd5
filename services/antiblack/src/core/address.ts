/** Addresses and subnets as numbers for the tables, and as the texts that verdicts name. Both agree with the limiter. */

import { subnetOf } from '@bigtap/domain'
import { hashText } from '@bigtap/kernel'

const HIGH = 2 ** 32
const LOW_20_BITS = 0xf_ffff
const DOT = 46
const NINE = 57
const ZERO = 48
/** Keys of what is no IPv4 address begin here. */
const HASHED = 2 ** 52
const NOT_IPV4 = -1

/** Number of an address for the tables: IPv4 as it is, all else by 52 bits of a hash. Two of 30,000 share one with a chance of 1 in 10 million. */
export function addressKey(address: string, seed: number): number {
  const number = ipv4Of(address)
  return number === NOT_IPV4 ? hashedKey(address, seed) : number
}

/** Number of the subnet of an address for the tables. */
export function subnetKey(address: string, seed: number): number {
  const number = ipv4Of(address)
  return number === NOT_IPV4 ? hashedKey(subnetOf(address), seed) : number >>> 8
}

/** As `subnetKey`, from the text that `subnetOf` makes. */
export function textSubnetKey(subnet: string, seed: number): number {
  const number = ipv4Of(`${subnet}.0`)
  return number === NOT_IPV4 ? hashedKey(subnet, seed) : number >>> 8
}

function hashedKey(text: string, seed: number): number {
  return HASHED + (hashText(`${seed}a${text}`) & LOW_20_BITS) * HIGH + hashText(`${seed}b${text}`)
}

/** By hand, without a match object: an address is read once per batch. */
function ipv4Of(text: string): number {
  let [number, part, dots, digits] = [0, 0, 0, 0]
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === DOT && digits > 0) {
      number = number * 256 + part
      part = digits = 0
      dots++
    } else if (code >= ZERO && code <= NINE && digits < 3) {
      part = part * 10 + code - ZERO
      digits++
    } else return NOT_IPV4
    if (part > 255) return NOT_IPV4
  }
  return dots === 3 && digits > 0 ? number * 256 + part : NOT_IPV4
}
