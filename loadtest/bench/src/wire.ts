import { type Clock, nullLogger, nullMetrics, type Random } from '@bigtap/kernel'
import {
  AskColumns,
  askBatchBytesMax,
  decodeAskBatch,
  decodeVerdictBatch,
  encodeAskBatch,
  encodeVerdictBatch,
  KIND,
  VerdictColumns,
  verdictBatchBytesMax,
} from '@bigtap/protocol'
import { createDialer, createServer, type Dialer, type Link } from '@bigtap/transport'
import { median } from './percentiles.ts'
import type { BenchResult } from './result.ts'

const RUNS = 5
const ASKS_PER_RUN = 100_000
const IN_FLIGHT_MAX = 4_096
const MERGED = 64
const SOLD_OUT = 3

const clock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }
const random: Random = {
  next: () => Math.random(),
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
}
const identity = { clusterSecret: 'cluster secret of the wire bench', role: 'bench' }
const parts = { logger: nullLogger, metrics: nullMetrics, clock, random }

/** Asks per second over one link, merged 64 to a frame; the baseline sends one frame per ask. Both ends share one thread. */
export async function runWire(): Promise<BenchResult[]> {
  const server = createServer(
    { ...identity, nodeId: 'bench-server', host: '127.0.0.1', port: 0 },
    { ...parts, onFrame: answerer() },
  )
  const { port } = await server.start()
  const client = createClient()
  const dialer = createDialer(
    { ...identity, nodeId: 'bench-client', address: `127.0.0.1:${port}` },
    { ...parts, onFrame: client.onFrame },
  )
  dialer.start()
  try {
    if (!(await dialer.ready(5_000))) throw new Error('the link of the wire bench did not come up')
    return [await measure(dialer, client)]
  } finally {
    await dialer.stop()
    await server.stop()
  }
}

async function measure(dialer: Dialer, client: Client): Promise<BenchResult> {
  await client.run(dialer, MERGED)
  await client.run(dialer, 1)
  const merged: number[] = []
  const single: number[] = []
  for (let run = 0; run < RUNS; run++) {
    merged.push(await client.run(dialer, MERGED))
    single.push(await client.run(dialer, 1))
  }
  const value = Math.round(median(merged))
  const baseline = Math.round(median(single))
  return { name: 'wire', unit: 'asks/s', value, baseline, ratio: value / baseline, runs: RUNS }
}

/** The server's end: every ask is sold out. */
function answerer(): (link: Link, kind: number, correlation: number, body: Uint8Array) => void {
  const asks = new AskColumns(MERGED)
  const verdicts = new VerdictColumns(MERGED)
  const out = Buffer.alloc(verdictBatchBytesMax(MERGED))
  return (link, _kind, correlation, body) => {
    decodeAskBatch(body, asks)
    verdicts.clear()
    for (let row = 0; row < asks.rows; row++) verdicts.push(asks.askId[row] as number, SOLD_OUT, 0, 0, 0)
    link.send(KIND.verdict, correlation, out.subarray(0, encodeVerdictBatch(verdicts, out)))
  }
}

interface Client {
  onFrame(link: Link, kind: number, correlation: number, body: Uint8Array): void
  /** Asks per second of one run. */
  run(dialer: Dialer, perFrame: number): Promise<number>
}

function createClient(): Client {
  const asks = new AskColumns(MERGED)
  const verdicts = new VerdictColumns(MERGED)
  const out = Buffer.alloc(askBatchBytesMax(MERGED))
  let sent = 0
  let answered = 0
  let onProgress: () => void = () => undefined

  const pump = (dialer: Dialer, perFrame: number): void => {
    while (sent < ASKS_PER_RUN && sent - answered + perFrame <= IN_FLIGHT_MAX) {
      asks.clear()
      for (let row = 0; row < perFrame; row++) asks.push(sent + row, 4_294_967_296 + sent + row, 1, 1, 1)
      if (!dialer.send(KIND.ask, 0, out.subarray(0, encodeAskBatch(asks, out)))) return
      sent += perFrame
    }
  }

  return {
    onFrame: (_link, _kind, _correlation, body) => {
      decodeVerdictBatch(body, verdicts)
      answered += verdicts.rows
      onProgress()
    },
    run: (dialer, perFrame) =>
      new Promise((resolve) => {
        sent = 0
        answered = 0
        const startedAt = performance.now()
        onProgress = () => {
          if (answered >= ASKS_PER_RUN) resolve((answered * 1_000) / (performance.now() - startedAt))
          else if (sent - answered <= IN_FLIGHT_MAX / 2) pump(dialer, perFrame)
        }
        pump(dialer, perFrame)
      }),
  }
}
