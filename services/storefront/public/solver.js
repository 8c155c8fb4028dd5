/**
 * A worker that solves one challenge: the counter for which SHA-256(salt | nonce | counter as u32, big-endian) begins with
 * the asked prefix. The message is 36 bytes, so that one try is one block. SHA-256: FIPS 180-4.
 *
 *   in   {parameters}                      out  {done, of} now and then · {counter, derivedKey} · {error}
 */

const REPORT_EVERY = 8192
const FIRST_PRIMES = 64

/** The fractional parts of the roots of the first primes, as the standard has them. */
function fractions(root, count) {
  const found = []
  for (let number = 2; found.length < count; number++) {
    let isPrime = true
    for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) isPrime = false
    if (isPrime) found.push(((number ** root % 1) * 2 ** 32) | 0)
  }
  return found
}

const K = Int32Array.from(fractions(1 / 3, FIRST_PRIMES))
const START = Int32Array.from(fractions(1 / 2, 8))
const words = new Int32Array(64)

const turn = (word, bits) => (word >>> bits) | (word << (32 - bits))

/** The digest of the one block in the first 16 of `words`. */
function digest(state) {
  for (let at = 16; at < 64; at++) {
    const early = words[at - 15]
    const late = words[at - 2]
    const first = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3)
    const second = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10)
    words[at] = (words[at - 16] + first + words[at - 7] + second) | 0
  }
  let [a, b, c, d, e, f, g, h] = START
  for (let at = 0; at < 64; at++) {
    const choice = (e & f) ^ (~e & g)
    const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + K[at] + words[at]) | 0
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  const out = [a, b, c, d, e, f, g, h]
  for (let at = 0; at < 8; at++) state[at] = (START[at] + out[at]) | 0
}

function wordsOf(hex) {
  if (!/^(?:[0-9a-f]{8}){4}$/.test(hex)) throw new Error('not 16 bytes of hexadecimal')
  return Array.from({ length: 4 }, (_, at) => Number.parseInt(hex.slice(at * 8, at * 8 + 8), 16) | 0)
}

/** Sums on this page are of one kind; what a later version asks for is waited for instead. */
function isKnown({ algorithm, cost, keyLength, data }) {
  return algorithm === 'SHA-256' && cost === 1 && keyLength === 32 && data?.triesMax > 0
}

function solve(parameters, report) {
  if (!isKnown(parameters)) throw new Error('not a challenge of this kind')
  const message = [...wordsOf(parameters.salt), ...wordsOf(parameters.nonce)]
  const prefix = wordsOf(parameters.keyPrefix)
  const { triesMax } = parameters.data
  const state = new Int32Array(8)
  for (let counter = 1; counter <= triesMax; counter++) {
    words.set(message)
    words[8] = counter
    words[9] = 0x8000_0000 | 0 // the end of the message, then zeros, then its length in bits
    words.fill(0, 10, 15)
    words[15] = 36 * 8
    digest(state)
    if (state[0] === prefix[0] && prefix.every((word, at) => word === state[at])) {
      const derivedKey = Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
      return { counter, derivedKey }
    }
    if (counter % REPORT_EVERY === 0) report({ done: counter, of: triesMax })
  }
  throw new Error('no counter fits')
}

self.onmessage = ({ data }) => {
  try {
    self.postMessage(solve(data.parameters, (progress) => self.postMessage(progress)))
  } catch (error) {
    self.postMessage({ error: error instanceof Error ? error.message : String(error) })
  }
}
