/** Client addresses: whose word is taken. */

/** Longest X-Forwarded-For that is looked at; what is longer is not believed. */
const FORWARDED_CHARS_MAX = 1_024

/**
 * The client's address: the socket's, or, when that is a trusted proxy, the last one in X-Forwarded-For that is not.
 * A client can put in front of that list what it likes; nothing of that is read.
 */
export function clientAddress(socket: string, forwarded: string, isTrusted: (address: string) => boolean): string {
  const direct = plainAddress(socket)
  if (forwarded === '' || forwarded.length > FORWARDED_CHARS_MAX || !isTrusted(direct)) return direct
  const hops = forwarded.split(',')
  let client = direct
  for (let at = hops.length - 1; at >= 0; at--) {
    const hop = plainAddress((hops[at] ?? '').trim())
    if (!isAddress(hop)) return client
    client = hop
    if (!isTrusted(hop)) return client
  }
  return client
}

/** An IPv4 address in IPv6 clothes (::ffff:1.2.3.4, also written out) is that IPv4 address. */
export function plainAddress(address: string): string {
  if (!address.includes(':')) return address
  const mapped = /^(?:::|(?:0{1,4}:){5})ffff:(.+)$/i.exec(address)?.[1]
  if (mapped === undefined) return address
  if (mapped.includes('.')) return mapped
  const [high = 0, low = 0] = mapped.split(':').map((group) => Number.parseInt(group, 16))
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

function isAddress(text: string): boolean {
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(text) || (text.includes(':') && /^[0-9a-f:.]{2,45}$/i.test(text))
}
