/** The proxies whose X-Forwarded-For is believed: addresses and networks from the settings. */

import { BlockList, isIP } from 'node:net'
import { Remembered } from './core/remembered.ts'

/** A BlockList takes 1.5 us for an address, and behind a balancer each request has two; a remembered one takes 0.1 us. */
export const ADDRESSES_MAX = 8_192

/** Reads addresses and CIDR networks; throws with the first that is neither. */
export function trustedProxies(list: readonly string[]): (address: string) => boolean {
  if (list.length === 0) return () => false
  const blocks = new BlockList()
  for (const entry of list) {
    const [address = '', bits] = entry.trim().split('/', 2)
    const version = isIP(address)
    const prefix = bits === undefined ? (version === 4 ? 32 : 128) : Number(bits)
    const isSound = version !== 0 && Number.isInteger(prefix) && prefix >= 0 && prefix <= (version === 4 ? 32 : 128)
    if (!isSound) throw new Error(`an address or a network such as 10.0.0.0/8, not "${entry}"`)
    blocks.addSubnet(address, prefix, version === 4 ? 'ipv4' : 'ipv6')
  }
  const known = new Remembered<boolean>(ADDRESSES_MAX)
  return (address) => {
    const isKnown = known.get(address)
    if (isKnown !== undefined) return isKnown
    const version = isIP(address)
    const isTrusted = version !== 0 && blocks.check(address, version === 4 ? 'ipv4' : 'ipv6')
    known.set(address, isTrusted)
    return isTrusted
  }
}
