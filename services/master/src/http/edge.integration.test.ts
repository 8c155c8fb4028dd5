import { connect } from 'node:net'
import { nullLogger } from '@bigtap/kernel'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createEdge, EDGE_LIMITS, Problem } from './edge.ts'

let app: FastifyInstance
let port: number

beforeAll(async () => {
  app = createEdge({ logger: nullLogger })
  app.addContentTypeParser('text/csv', (_request, payload, done) => done(null, payload))
  app.post('/plain', async () => ({}))
  app.post('/activities/7/reservations', async () => {
    throw new Problem('no_session')
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const address = app.server.address()
  port = typeof address === 'object' ? (address?.port ?? 0) : 0
})

afterAll(() => app.close())

/** Sends a head and then a byte now and then, for ever; tells what came back when the connection is over. */
function trickle(path: string, type: string): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(port, '127.0.0.1')
    socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\ncontent-length: 50000\r\n\r\n`)
    const timer = setInterval(() => socket.write('1'), 100)
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearInterval(timer)
      resolve(text)
    })
  })
}

test('a request that trickles in is cut off, whatever it says it is', async () => {
  const [json] = await Promise.all([trickle('/plain', 'application/json'), trickle('/plain', 'text/csv')])
  expect(json).not.toContain('HTTP/1.1 200')
  expect(EDGE_LIMITS.requestMsMax).toBeLessThan(10_000)
})

test('who is refused an import is told so, and may not go on sending', async () => {
  expect(await trickle('/activities/7/reservations', 'text/csv')).toContain('no_session')
})
