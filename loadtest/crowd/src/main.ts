/**
 * The crowd as a process: its parent sends `sign-in`, then `sale`; it answers with `signed-in`, `progress` each second
 * and `result` over the IPC channel. Without a parent it prints the usage.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '@bigtap/testkit'
import { runBuyer, type Sale } from './buyer.ts'
import { type Client, createClient } from './client.ts'
import type { CrowdOrder, CrowdReport, CrowdResult } from './messages.ts'
import { type BuyerPlan, planCrowd } from './plan.ts'
import { CrowdStats } from './stats.ts'

const CONNECTIONS_MAX = 384
const MONEY_CONNECTIONS_MAX = 128
const ANSWER_MS_MAX = 15_000
const SIGN_IN_PARALLEL = 64
const SIGN_IN_TRIES_MAX = 5
const PROGRESS_EVERY_MS = 1_000

interface Crowd {
  readonly client: Client
  readonly plans: readonly BuyerPlan[]
  readonly sessions: Map<number, string>
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
    connectionsMax: CONNECTIONS_MAX,
    moneyConnectionsMax: MONEY_CONNECTIONS_MAX,
    answerMsMax: ANSWER_MS_MAX,
  })
  const sessions = new Map<number, string>()
  crowd = { client, plans, sessions }
  const queue = plans.values()
  const worker = async () => {
    for (const { uid } of queue) {
      const session = await openSession(client, uid)
      if (session !== undefined) sessions.set(uid, session)
    }
  }
  await Promise.all(Array.from({ length: SIGN_IN_PARALLEL }, worker))
  tell({ type: 'signed-in', sessions: sessions.size })
}

async function openSession(client: Client, uid: number): Promise<string | undefined> {
  for (let tries = 0; tries < SIGN_IN_TRIES_MAX; tries++) {
    const answer = await client.call({ method: 'POST', path: '/v1/session', body: { uid } })
    if (answer.status === 200 && typeof answer.body?.session === 'string') return answer.body.session
    await sleep(100 * 2 ** tries)
  }
  return undefined
}

async function runSale(order: Extract<CrowdOrder, { type: 'sale' }>): Promise<void> {
  if (!crowd) throw new Error('the sale was ordered before the sign-in')
  const { client, plans, sessions } = crowd
  const stats = new CrowdStats()
  const sale: Sale = {
    ...order,
    client,
    stats,
    now: Date.now,
    sleep: async (ms) => {
      await sleep(ms)
    },
  }
  const progress = setInterval(() => tell({ type: 'progress', ...summary(stats, plans.length) }), PROGRESS_EVERY_MS)
  await Promise.all(
    plans.map(async (plan) => {
      const session = sessions.get(plan.uid)
      const waitMs = order.opensAt + plan.arriveMs - Date.now()
      if (waitMs > 0) await sleep(waitMs)
      if (session !== undefined) await runBuyer(plan, session, sale)
    }),
  )
  clearInterval(progress)
  tell({ type: 'result', result: resultOf(stats, plans) })
  await client.close()
}

function summary(stats: CrowdStats, buyers: number) {
  const { asks, answers, finished, paid } = stats
  return { asks, answers: { ...answers }, finished, buyers, orders: stats.orders.size, paid }
}

function resultOf(stats: CrowdStats, plans: readonly BuyerPlan[]): CrowdResult {
  const normal = plans.filter((plan) => plan.kind === 'normal').length
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
    bots: plans.length - normal,
    normalServedRatio: normal === 0 ? 1 : stats.normalServed / normal,
    abusiveAdmittedRatio: stats.botAsks === 0 ? 0 : stats.botGranted / stats.botAsks,
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
