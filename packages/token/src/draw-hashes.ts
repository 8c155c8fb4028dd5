import { createHash, createHmac } from 'node:crypto'

/** The hashes of a draw (`DrawHashes` of the domain), by node:crypto. */
export const drawHashes = {
  sha256OfHex: (hex: string) => createHash('sha256').update(Buffer.from(hex, 'hex')).digest('hex'),
  sha256: (text: string) => createHash('sha256').update(text).digest('hex'),
  hmac: (seed: string, text: string) => createHmac('sha256', Buffer.from(seed, 'hex')).update(text).digest('hex'),
} as const
