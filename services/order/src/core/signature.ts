/** The provider's signature: `t=<unix seconds>,v1=<hex HMAC-SHA256 of t + "." + body>`. The hash comes in as a function. */

/** Makes the hexadecimal HMAC of a text. */
export type Sign = (text: string) => string

/** A signature is good for this long; clocks may differ a little. */
export const SIGNATURE_SECONDS_MAX = 300

const HEADER = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/

/** Checks a signature header against the body as it came. Compares in constant time. */
export function checkSignature(
  header: string | undefined,
  body: string,
  nowMs: number,
  sign: Sign,
): 'ok' | 'bad' | 'old' {
  const match = HEADER.exec(header ?? '')
  const [, at = '', given = ''] = match ?? []
  if (!match || !isEqual(sign(`${at}.${body}`), given)) return 'bad'
  return Math.abs(nowMs / 1000 - Number(at)) > SIGNATURE_SECONDS_MAX ? 'old' : 'ok'
}

/** Makes the header for a body. */
export function signatureOf(body: string, nowMs: number, sign: Sign): string {
  const at = Math.floor(nowMs / 1000)
  return `t=${at},v1=${sign(`${at}.${body}`)}`
}

function isEqual(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let index = 0; index < b.length; index++) difference |= a.charCodeAt(index) ^ b.charCodeAt(index)
  return difference === 0
}
