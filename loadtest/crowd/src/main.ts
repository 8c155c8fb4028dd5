/**
 * The crowd as a process: its parent sends `sign-in`, then `sale`; it answers with `signed-in`, `progress` each second
 * and `result` over the IPC channel. Without a parent it prints the usage.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '@bigtap/testkit'
import type { Sale } from './asking.ts'
import { runBuyer } from './buyer.ts'
import type { BuyerPlan } from './buyer-plan.ts'
import { Solver } from './challenge.ts'
import { type Client, createClient } from './client.ts'
import type { CrowdOrder, CrowdReport, CrowdResult } from './messages.ts'
import { planCrowd } from './plan.ts'
import { ABUSIVE_PROFILES } from './profiles.ts'
import { SlowSenders } from './slow-senders.ts'
import { SOURCE_CONNECTIONS_MAX } from './sources.ts'
import { CrowdStats } from './stats.ts'
import { Visit } from './visit.ts'

const CONNECTIONS_MAX = 384
const MONEY_CONNECTIONS_MAX = 128
const ANSWER_MS_MAX = 15_000
const SIGN_IN_PARALLEL = 64
const SIGN_IN_TRIES_MAX = 5
const PROGRESS_EVERY_MS = 1_000
const SLOW_SOCKETS_MAX = 256
const SLOW_HOLD_MS = 15_000

interface Crowd {
  readonly client: Client
  readonly plans: readonly BuyerPlan[]
  /** By seat: an account that several use has several sessions. */
  readonly sessions: Map<BuyerPlan, string>
  readonly slowSenders: SlowSenders
  readonly draw: () => number
}

let crowd: Crowd | undefined

function tell(message: CrowdReport): void {
  process.send?.(message)
}

async function signIn(order: Extract<CrowdOrder, { type: 'sign-in' }>): Promise<void> {
  const random = new SeededRandom(order.settings.seed)
  const plans = planCrowd(order.settings, () => random.next())
  const client = createClient({
    origin: order.origin,
    limiters: order.limiters,
    connectionsMax: order.settings.profile === undefined ? CONNECTIONS_MAX : SOURCE_CONNECTIONS_MAX,
    moneyConnectionsMax: MONEY_CONNECTIONS_MAX,
    answerMsMax: ANSWER_MS_MAX,
  })
  const slowSenders = new SlowSenders({
    host: '127.0.0.1',
    ports: order.limiters.map((url) => Number(new URL(url).port)),
    socketsMax: SLOW_SOCKETS_MAX,
    holdMs: SLOW_HOLD_MS,
  })
  const sessions = new Map<BuyerPlan, string>()
  crowd = { client, plans, sessions, slowSenders, draw: () => random.next() }
  const queue = plans.values()
  const worker = async () => {
    for (const plan of queue) {
      const session = await openSession(client, plan)
      if (session !== undefined) sessions.set(plan, session)
    }
  }
  await Promise.all(Array.from({ length: SIGN_IN_PARALLEL }, worker))
  tell({ type: 'signed-in', sessions: sessions.size })
}

async function openSession(client: Client, plan: BuyerPlan): Promise<string | undefined> {
  const visit = new Visit(plan, '')
  for (let tries = 0; tries < SIGN_IN_TRIES_MAX; tries++) {
    const call = { method: 'POST', path: '/v1/session', body: { uid: plan.uid } } as const
    const answer = await client.call({ ...call, from: visit.nextFrom() })
    if (answer.status === 200 && typeof answer.body?.session === 'string') return answer.body.session
    await sleep(100 * 2 ** tries)
  }
  return undefined
}

async function runSale(order: Extract<CrowdOrder, { type: 'sale' }>): Promise<void> {
  if (!crowd) throw new Error('the sale was ordered before the sign-in')
  const { client, plans, sessions, slowSenders, draw } = crowd
  const stats = new CrowdStats()
  const sale: Sale = {
    ...order,
    client,
    stats,
    slowSenders,
    draw,
    solver: new Solver(),
    now: Date.now,
    sleep: async (ms) => {
      await sleep(ms)
    },
  }
  const progress = setInterval(() => tell({ type: 'progress', ...summary(stats, plans.length) }), PROGRESS_EVERY_MS)
  await Promise.all(
    plans.map(async (plan) => {
      const session = sessions.get(plan)
      const waitMs = order.opensAt + plan.arriveMs - Date.now()
      if (waitMs > 0) await sleep(waitMs)
      if (session !== undefined) await runBuyer(plan, session, sale)
    }),
  )
  clearInterval(progress)
  tell({ type: 'result', result: resultOf(stats, plans, slowSenders) })
  slowSenders.close()
  await client.close()
}

function summary(stats: CrowdStats, buyers: number) {
  const { asks, answers, finished, paid } = stats
  return { asks, answers: { ...answers }, finished, buyers, orders: stats.orders.size, paid }
}

function resultOf(stats: CrowdStats, plans: readonly BuyerPlan[], slowSenders: SlowSenders): CrowdResult {
  const { held, cutOff, skipped } = slowSenders
  const profiles = stats.profiles()
  const came = ABUSIVE_PROFILES.filter((name) => name in profiles)
  return {
    asks: stats.asks,
    asksPerSecond: Math.round((stats.asks * 1000) / Math.max(1, stats.lastAskAt - stats.firstAskAt)),
    answers: stats.answers,
    latencyMs: stats.latency(),
    orders: [...stats.orders.values()],
    paid: stats.paid,
    cancelled: stats.cancelled,
    tokensLeft: stats.tokensLeft,
    gaveUp: stats.gaveUp,
    bots: plans.filter((plan) => plan.kind === 'bot').length,
    normalServedRatio: stats.normalServedRatio(),
    abusiveAdmittedRatio: stats.abusiveAdmittedRatio(),
    abusiveAdmittedByProfile: Object.fromEntries(came.map((name) => [name, stats.abusiveAdmittedRatio([name])])),
    wronglyBlocked: stats.wronglyBlocked(),
    profiles,
    slowSenders: { held, cutOff, skipped },
    complaints: stats.complaints,
    complaintCount: stats.complaintCount,
  }
}

function onOrder(order: CrowdOrder): void {
  const work = order.type === 'sign-in' ? signIn(order) : runSale(order)
  work.catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
}

if (process.send) {
  process.on('message', onOrder)
  process.on('disconnect', () => process.exit(0))
} else {
  console.error('the crowd is started by `npm start`; alone it has nobody to report to')
  process.exit(2)
}
