/** Child of the bench `broadcast`: mdw-router as it is, or a plain one that writes each command by itself. */

import { type Clock, nullLogger, nullMetrics, type Random } from '@bigtap/kernel'
import { Router } from '@bigtap/mdw-router/router'
import {
  type Ack,
  type Command,
  decodeAck,
  decodeCommandBatch,
  encodeAckReport,
  encodeCommandBatch,
  KIND,
} from '@bigtap/protocol'
import { createServer, type Link } from '@bigtap/transport'

/** What the bench tells this process to be. */
export interface RouterOrder {
  readonly kind: 'mdw-router' | 'plain'
  readonly clusterSecret: string
}

const clock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }
const random: Random = {
  next: () => Math.random(),
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
}
const parts = { logger: nullLogger, metrics: nullMetrics, clock, random }

process.once('message', (order: RouterOrder) => void start(order))

async function start({ kind, clusterSecret }: RouterOrder): Promise<void> {
  const settings = { nodeId: kind, host: '127.0.0.1', port: 0, clusterSecret, linksMax: 256 }
  const { port } = await (kind === 'plain' ? startPlain(settings) : new Router(settings, parts).start())
  process.send?.({ port })
}

/** First in, first out: a frame and a write for each command and node, a report for each ack. */
function startPlain(settings: { nodeId: string; host: string; port: number; clusterSecret: string }) {
  const fronts = new Set<Link>()
  const masters = new Set<Link>()
  const queue: { command: Command; epoch: number }[] = []
  let isRunning = false
  let last = { epoch: 1, since: 0, upTo: 0, head: 0 }
  const run = async (): Promise<void> => {
    isRunning = true
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { sequence } = next.command
      last = { epoch: next.epoch, since: sequence, upTo: sequence, head: next.command.revision }
      const body = encodeCommandBatch({ ...last, since: sequence - 1, commands: [next.command] })
      for (const link of fronts) link.send(KIND.command, 1, body)
      // A link writes what it has at the end of the turn: a turn per command is a write per command.
      await new Promise((resolve) => setImmediate(resolve))
    }
    isRunning = false
  }
  const report = (link: Link, ack: Ack): void => {
    const row = { ...ack, nodeId: link.nodeId, role: link.role, isGone: false, clockOffsetMs: 0, roundTripMs: 0 }
    const body = encodeAckReport({ nodes: [row] })
    for (const master of masters) master.send(KIND.ackReport, 0, body)
  }
  return createServer(
    { ...settings, role: 'mdw-router' },
    {
      ...parts,
      onClose: (link) => {
        fronts.delete(link)
        masters.delete(link)
      },
      onLink: (link) => {
        if (link.role === 'master') masters.add(link)
        else fronts.add(link)
        // Who comes late is told where the others are, as by mdw-router.
        if (link.role !== 'master') link.send(KIND.command, 1, encodeCommandBatch({ ...last, commands: [] }))
      },
      onFrame: (link, kind, _correlation, body) => {
        if (kind === KIND.ack) report(link, decodeAck(body))
        if (kind !== KIND.command) return
        const { epoch, commands } = decodeCommandBatch(body)
        for (const command of commands) queue.push({ command: { ...command, body: Buffer.from(command.body) }, epoch })
        if (!isRunning) void run()
      },
    },
  ).start()
}
