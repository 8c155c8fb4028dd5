import { expect, test } from 'vitest'
import { encodeFrame, FrameParser, KIND, ProtocolError } from './index.ts'

const bodies = [0, 1, 15, 16, 17, 300, 5_000].map((length) => Uint8Array.from({ length }, (_, at) => at))
const frames = bodies.map((body, at) => encodeFrame(KIND.ask, 0xffff_fff0 + at, body))
const stream = Buffer.concat(frames)

function parse(chunks: Iterable<Uint8Array>): { correlation: number; body: Uint8Array }[] {
  const seen: { correlation: number; body: Uint8Array }[] = []
  const parser = new FrameParser()
  for (const chunk of chunks) {
    parser.push(chunk, (_kind, correlation, body) => seen.push({ correlation, body: Uint8Array.from(body) }))
  }
  expect(parser.waitingBytes).toBe(0)
  return seen
}

const expected = bodies.map((body, at) => ({ correlation: 0xffff_fff0 + at, body }))

test('frames are the same wherever the stream is cut in two', () => {
  for (let cut = 0; cut <= stream.length; cut++) {
    const seen = parse([stream.subarray(0, cut), stream.subarray(cut)])
    if (seen.length !== expected.length) expect.fail(`cut at ${cut}: ${seen.length} frames`)
    for (let at = 0; at < seen.length; at++) {
      if (Buffer.compare(seen[at]?.body ?? stream, bodies[at] as Uint8Array) !== 0) expect.fail(`cut at ${cut}`)
    }
  }
})

test('frames are the same when every byte comes alone', () => {
  expect(parse(Array.from(stream, (byte) => Uint8Array.of(byte)))).toEqual(expected)
})

test('an empty chunk changes nothing', () => {
  expect(parse([new Uint8Array(0), stream, new Uint8Array(0)])).toEqual(expected)
})

test('a length over 1 MiB is refused before the body is waited for', () => {
  const header = encodeFrame(KIND.ask, 1, new Uint8Array(0))
  Buffer.from(header.buffer, header.byteOffset).writeUInt32LE(1_048_577, 12)

  expect(codeOf(header)).toBe('LENGTH_EXCEEDED')
})

test('memory grows with the bytes that came, not with the bytes that were announced', () => {
  const header = encodeFrame(KIND.ask, 1, new Uint8Array(0))
  Buffer.from(header.buffer, header.byteOffset).writeUInt32LE(1_048_576, 12)
  const parser = new FrameParser()
  parser.push(header, () => expect.fail('no frame'))

  expect(parser.waitingBytes).toBe(16)
})

test.each([
  [0, 'BAD_MAGIC'],
  [1, 'BAD_MAGIC'],
  [2, 'BAD_VERSION'],
  [3, 'BAD_KIND'],
  [4, 'BAD_FLAGS'],
  [6, 'BAD_FLAGS'],
])('a wrong byte %i of the header is %s', (at, code) => {
  const header = encodeFrame(KIND.ask, 1, new Uint8Array(0))
  header[at] = 0xee

  expect(codeOf(header)).toBe(code)
})

test('a parser that met a bad frame reads no more', () => {
  const parser = new FrameParser()
  expect(() => parser.push(Buffer.from('GET / HTTP/1.1\r\n\r\n'), () => undefined)).toThrow(ProtocolError)

  expect(() => parser.push(frames[0] as Uint8Array, () => expect.fail('no frame'))).toThrow(ProtocolError)
})

function codeOf(bytes: Uint8Array): string | undefined {
  try {
    new FrameParser().push(bytes, () => undefined)
    return undefined
  } catch (error) {
    return error instanceof ProtocolError ? error.code : String(error)
  }
}
