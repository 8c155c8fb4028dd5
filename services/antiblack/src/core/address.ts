/** Addresses and subnets as numbers for the tables, and as the texts that verdicts name. Both agree with the limiter. */

import { hashText } from '@bigtap/kernel'

const HIGH = 2 ** 32
const LOW_20_BITS = 0xf_ffff
const DOT = 46
const NINE = 57
const ZERO = 48
/** Keys of what is no IPv4 address begin here. */
const HASHED = 2 ** 52
const NOT_IPV4 = -1

/** The /24 of an IPv4 address (a.b.c), the /64 of an IPv6 address (four groups). */
export function subnetOf(address: string): string {
  if (!address.includes(':')) return address.slice(0, Math.max(0, address.lastIndexOf('.')))
  const [head = '', tail = ''] = address.split('::', 2)
  const first = head === '' ? [] : head.split(':')
  const last = tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0')
  const groups = address.includes('::') ? [...first, ...zeros, ...last] : first
  return groups
    .slice(0, 4)
    .map((group) => (Number.parseInt(group, 16) || 0).toString(16))
    .join(':')
}

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
