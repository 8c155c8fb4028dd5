import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from '@bigtap/testkit'

/** A TCP proxy that can be cut as a network is: bytes stop, nobody is told. */
export interface CutProxy {
  readonly port: number
  /** From now on nothing passes; what is connected now, or connects before the end, is dead for good. */
  cut(): void
  heal(): void
  stop(): Promise<void>
}

/** Listens on a free port and passes everything on to `target`. */
export async function startCutProxy(target: number): Promise<CutProxy> {
  const port = await freePort()
  const open = new Set<Socket>()
  let isCut = false
  let cuts = 0
  const server: Server = createServer((socket) => {
    const born = cuts
    const upstream = connect({ host: '127.0.0.1', port: target })
    const passes = () => !isCut && born === cuts
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      open.add(from)
      from.on('data', (chunk: Buffer) => passes() && to.write(chunk))
      from.on('error', () => from.destroy())
      from.on('close', () => {
        open.delete(from)
        if (passes()) to.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    port,
    cut: () => {
      isCut = true
      cuts++
    },
    heal: () => {
      isCut = false
      cuts++ // what was dialled during the cut stays dead, as a lost SYN does
    },
    stop: async () => {
      for (const socket of open) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
