import type { AddressInfo } from 'node:net'
import { createServer, type Server, type Socket } from 'node:net'
import { waitFor } from '@bigtap/testkit'
import { expect, test } from 'vitest'
import { SlowSenders } from './slow-senders.ts'

async function withServer(onSocket: (socket: Socket) => void, work: (port: number) => Promise<void>): Promise<void> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    onSocket(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await work((server.address() as AddressInfo).port)
  server.close()
}

test('slow senders hold no more sockets than they may, each from the address it was given', async () => {
  const sources: (string | undefined)[] = []
  await withServer(
    (socket) => sources.push(socket.remoteAddress),
    async (port) => {
      const slow = new SlowSenders({ host: '127.0.0.1', ports: [port], socketsMax: 2, holdMs: 60_000 })
      const holding = ['127.0.0.1', '127.0.0.1', '127.0.0.1'].map((address) => slow.hold(address, 's'))
      await waitFor('two sockets', () => sources.length === 2)

      expect(slow).toMatchObject({ open: 2, skipped: 1 })

      slow.close()
      await Promise.all(holding)
      expect(slow.open).toBe(0)
    },
  )
  expect(sources).toEqual(['127.0.0.1', '127.0.0.1'])
})

test('a server that ends the connection is noticed', async () => {
  await withServer(
    (socket) => socket.end(),
    async (port) => {
      const slow = new SlowSenders({ host: '127.0.0.1', ports: [port], socketsMax: 2, holdMs: 60_000 })
      await slow.hold('127.0.0.1', 's')

      expect(slow).toMatchObject({ cutOff: 1, held: 0, open: 0 })
    },
  )
})
