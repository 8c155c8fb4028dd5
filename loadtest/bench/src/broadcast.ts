/**
 * Bench `broadcast`: 400 statuses to 100 fronts, 40,000 commands, each acked. A command's time is from master's send to
 * the ack of that node in a report at master. And one urgent command while such a broadcast is under way.
 *
 * ```
 *   this process: master ──► router (a process) ──► 100 fronts (one process, 100 sockets)     in turn with
 *        ▲                                                     │                              a plain router:
 *        └──────────── AckReport ◄──────── Ack ◄───────────────┘                              one write per command
 * ```
 */

import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { statusKey } from '@bigtap/domain'
import { type Clock, nullLogger, nullMetrics, type Random } from '@bigtap/kernel'
import { type CommandInit, decodeAckReport, encodeCommandBatches, KIND, type NodeAck } from '@bigtap/protocol'
import { createDialer, type Dialer } from '@bigtap/transport'
import type { NodesOrder } from './broadcast-nodes.ts'
import type { RouterOrder } from './broadcast-router.ts'
import { median, percentile } from './percentiles.ts'
import type { BenchResult } from './result.ts'

const NODES = 100
const SKUS = 400
const RUNS = 5
const WARM_UP = 6
/** The urgent one is sent this long after the broadcast. */
const URGENT_AFTER_MS = 5
const ROUND_MS_MAX = 60_000
const SECRET = 'cluster secret of the broadcast bench'
const ACTIVITY = 1

const clock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }
const random: Random = {
  next: () => Math.random(),
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
}

/** Goals: 40,000 acked within 500 ms (better 200), urgent to 100 fronts within 50 ms, p99 both. */
export async function runBroadcast(): Promise<BenchResult[]> {
  const children: ChildProcess[] = []
  const masters: Master[] = []
  try {
    for (const kind of ['mdw-router', 'plain'] as const) masters.push(await startMaster(kind, children))
    return await measure(masters as [Master, Master])
  } finally {
    for (const { dialer } of masters) await dialer.stop()
    for (const child of children) child.kill('SIGKILL')
  }
}

interface Round {
  /** Of each command and node, ms. */
  readonly commands: number[]
  /** Of the urgent command, per node. */
  readonly urgent: number[]
}

async function measure([router, plain]: [Master, Master]): Promise<BenchResult[]> {
  await plain.round() // 400 times the frames: its code is warm after one
  for (let n = 0; n < WARM_UP; n++) await router.round()
  const value: Round[] = []
  const baseline: Round[] = []
  for (let run = 0; run < RUNS; run++) {
    value.push(await router.round())
    baseline.push(await plain.round())
  }
  const figure = (name: string, read: (round: Round) => number): BenchResult => {
    const [a, b] = [median(value.map(read)), median(baseline.map(read))]
    return { name: `broadcast ${name}`, unit: 'ms', value: round2(a), baseline: round2(b), ratio: a / b, runs: RUNS }
  }
  return [
    figure('40,000 acked p50', ({ commands }) => percentile(commands, 50)),
    figure('40,000 acked p99', ({ commands }) => percentile(commands, 99)),
    figure('40,000 acked max', ({ commands }) => percentile(commands, 100)),
    figure('urgent to 100 p50', ({ urgent }) => percentile(urgent, 50)),
    figure('urgent to 100 p99', ({ urgent }) => percentile(urgent, 99)),
  ]
}

interface Master {
  readonly dialer: Dialer
  round(): Promise<Round>
}

/** A router of that kind, its fronts, and the master that speaks to it. */
async function startMaster(kind: RouterOrder['kind'], children: ChildProcess[]): Promise<Master> {
  const { port } = await order<{ port: number }>('broadcast-router', { kind, clusterSecret: SECRET }, children)
  await order('broadcast-nodes', { count: NODES, port, clusterSecret: SECRET } satisfies NodesOrder, children)
  let onRow: (row: NodeAck) => void = () => undefined
  const dialer = createDialer(
    { nodeId: 'master-1', role: 'master', clusterSecret: SECRET, address: `127.0.0.1:${port}` },
    {
      ...{ logger: nullLogger, metrics: nullMetrics, clock, random },
      onFrame: (_link, frameKind, _correlation, body) => {
        if (frameKind === KIND.ackReport) for (const row of decodeAckReport(body).nodes) onRow(row)
      },
    },
  )
  dialer.start()
  if (!(await dialer.ready(5_000))) throw new Error(`no link to the ${kind} of the bench`)
  let sequence = 0
  const send = (commands: readonly CommandInit[]): void => {
    const position = { epoch: 1, since: sequence - commands.length, upTo: sequence, head: sequence }
    for (const body of encodeCommandBatches({ ...position, commands })) dialer.send(KIND.command, 0, body)
  }
  const next = (skuId: number, isUrgent: boolean): CommandInit => {
    sequence++
    return { sequence, key: statusKey(ACTIVITY, skuId), revision: sequence, isUrgent, body: statusOf(skuId, sequence) }
  }
  return {
    dialer,
    round: () =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`${kind}: not all acked in ${ROUND_MS_MAX} ms`)), ROUND_MS_MAX)
        const first = sequence + 1
        const done = collect(first, (round) => {
          clearTimeout(late)
          resolve(round)
        })
        onRow = done.onRow
        done.sentAt = performance.now()
        send(Array.from({ length: SKUS }, (_, at) => next(at + 1, false)))
        setTimeout(() => {
          done.urgentAt = performance.now()
          send([next(SKUS + 1, true)])
        }, URGENT_AFTER_MS)
      }),
  }
}

/** Notes when each node has acked each sequence of a round: SKUS commands from `first` on, then the urgent one. */
function collect(first: number, onDone: (round: Round) => void) {
  const upTo = new Map<string, number>()
  const hasUrgent = new Set<string>()
  const round: Round = { commands: [], urgent: [] }
  const urgentSequence = first + SKUS
  const times = { sentAt: 0, urgentAt: 0 }
  return Object.assign(times, {
    onRow: ({ nodeId, upTo: acked, ahead }: NodeAck): void => {
      const now = performance.now()
      const before = Math.max(upTo.get(nodeId) ?? first - 1, first - 1)
      for (let at = before + 1; at <= Math.min(acked, urgentSequence - 1); at++) round.commands.push(now - times.sentAt)
      upTo.set(nodeId, Math.max(acked, before))
      if (!hasUrgent.has(nodeId) && (acked >= urgentSequence || ahead.includes(urgentSequence))) {
        hasUrgent.add(nodeId)
        round.urgent.push(now - times.urgentAt)
      }
      if (round.commands.length === NODES * SKUS && round.urgent.length === NODES) onDone(round)
    },
  })
}

function statusOf(skuId: number, n: number): Buffer {
  const status = { activityId: ACTIVITY, skuId, soldOut: false, exhausted: false, free: 1_000 + n, held: 5, sold: 7 }
  return Buffer.from(JSON.stringify({ ...status, at: 1_800_000_000_000 + n }))
}

/** Starts a child, tells it what to be, and waits for its answer. */
function order<Answer>(script: string, message: RouterOrder | NodesOrder, children: ChildProcess[]): Promise<Answer> {
  const child = fork(fileURLToPath(new URL(`./${script}.js`, import.meta.url)))
  children.push(child)
  return new Promise((resolve, reject) => {
    child.once('message', (answer: Answer & object) => resolve(answer))
    child.once('exit', (code) => reject(new Error(`${script} of the bench ended with ${code}`)))
    child.send(message)
  })
}

function round2(value: number): number {
  return Math.round(value * 100) / 100
}
