/** Stands in for Middle in bench `shed`, a process: answers so many asks per second and no more, in the order they came. */

import { VERDICT } from '@bigtap/domain'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import {
  AskColumns,
  decodeAskBatch,
  encodeVerdictBatch,
  KIND,
  VerdictColumns,
  verdictBatchBytesMax,
} from '@bigtap/protocol'
import { systemClock, systemRandom } from '@bigtap/runtime'
import { createServer, type Link } from '@bigtap/transport'

/** What it is told. */
export interface MiddleTask {
  readonly port: number
  readonly clusterSecret: string
  readonly perSecond: number
}

const ROWS = 1_024
/** It works in slices of this, as a machine that is busy all the time does. */
const SLICE_MS = 2
const RETRY_MS = 1_000
const asks = new AskColumns(ROWS)
const verdicts = new VerdictColumns(ROWS)
const bytes = Buffer.alloc(verdictBatchBytesMax(ROWS))
const waiting: { link: Link; askId: number }[] = []

process.on('disconnect', () => process.exit(0))
process.on('message', (task: MiddleTask) => void start(task))

async function start({ port, clusterSecret, perSecond }: MiddleTask): Promise<void> {
  const server = createServer(
    { host: '127.0.0.1', port, nodeId: 'middle-1', role: 'middle', clusterSecret },
    {
      ...{ logger: nullLogger, metrics: nullMetrics, clock: systemClock, random: systemRandom },
      onFrame: (link, kind, _correlation, body) => {
        if (kind !== KIND.ask) return
        decodeAskBatch(body, asks)
        for (let row = 0; row < asks.rows; row++) waiting.push({ link, askId: asks.askId[row] as number })
      },
    },
  )
  await server.start()
  let credit = 0
  let workedAt = performance.now()
  setInterval(() => {
    const now = performance.now()
    // A slice that came late, on a machine that does other things too, is made up for; idle time is not saved up.
    credit = Math.min(credit + ((now - workedAt) * perSecond) / 1_000, perSecond / 10)
    workedAt = now
    const count = Math.min(Math.floor(credit), waiting.length)
    credit -= count
    if (waiting.length === 0) credit = Math.min(credit, 1)
    answer(waiting.splice(0, count))
  }, SLICE_MS)
  process.send?.('ready')
}

function answer(due: readonly { link: Link; askId: number }[]): void {
  for (const { link, askId } of due) {
    verdicts.push(askId, VERDICT.queued, RETRY_MS, 1, RETRY_MS)
    if (verdicts.rows === ROWS) send(link)
  }
  const last = due.at(-1)
  if (last !== undefined && verdicts.rows > 0) send(last.link)
}

function send(link: Link): void {
  link.send(KIND.verdict, 0, bytes.subarray(0, encodeVerdictBatch(verdicts, bytes)))
  verdicts.clear()
}
