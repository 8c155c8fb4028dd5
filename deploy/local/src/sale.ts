/** Runs one whole flash sale on a platform: defines it, sends the crowd, waits until it is settled, reports. */

import { type ChildProcess, fork } from 'node:child_process'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { CrowdOrder, CrowdReport, CrowdResult } from '@bigtap/crowd/messages'
import { createDb } from '@bigtap/db'
import { AdminClient, type Invariants } from './admin.ts'
import type { StartOptions } from './args.ts'
import type { Platform } from './platform.ts'
import { startProbe } from './probe.ts'
import type { Display } from './progress.ts'
import { composeReport, type SaleReport } from './report.ts'
import { activityTerms, saleMsMax, skuTerms } from './terms.ts'
import { OPS_OFFSET } from './topology.ts'

const OPENS_IN_MS = 4_000
const SETTLE_MS_MAX = 40_000
const SETTLE_EVERY_MS = 250
const SIGN_IN_MS_MAX = 180_000
const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))

/** Runs the sale and returns its report; rejects when it could not be run at all. */
export async function runSale(platform: Platform, options: StartOptions, display: Display): Promise<SaleReport> {
  const admin = new AdminClient(platform.ports.masters.map((port) => `http://127.0.0.1:${port}`))
  await admin.login('operator', platform.secrets.operatorPassword)
  const crowd = startCrowd()
  try {
    display.step(
      `crowd: ${options.buyers} buyers sign in${options.profile === undefined ? '' : `, ${options.profile}`}`,
    )
    const origin = `http://127.0.0.1:${platform.ports.origin}`
    const limiters = platform.ports.limiters.map((port) => `http://127.0.0.1:${port}`)
    crowd.tell({ type: 'sign-in', origin, limiters, settings: options })
    const { sessions } = await crowd.wait('signed-in', SIGN_IN_MS_MAX)
    if (sessions < options.buyers) throw new Error(`only ${sessions} of ${options.buyers} buyers could sign in`)

    const sale = await defineSale(admin, options)
    display.step(`activity ${sale.activityId}: ${options.stock} units, opens in ${OPENS_IN_MS / 1000} s`)
    const probe = startProbe({ ...sale, session: await probeSession(origin) }, limiters)
    for (const { role, atMs } of options.kills) scheduleKill(platform, role, sale.opensAt + atMs, display)
    crowd.onProgress = (progress) => display.progress(progress, (Date.now() - sale.opensAt) / 1000)
    crowd.tell({ type: 'sale', ...sale })
    const { result } = await crowd.wait('result', saleMsMax(options) + OPENS_IN_MS + SETTLE_MS_MAX)

    display.step('the crowd is done; waiting until every hold and token is settled')
    const invariants = await untilSettled(admin, sale.activityId)
    const facts = {
      options,
      activityId: sale.activityId,
      crowd: result,
      invariants,
      granted: await grantedByMiddle(platform),
      lostOrders: await lostOrders(platform.databaseUrl, result),
      probe: probe.stop(),
      machine: machineName(),
    }
    return composeReport(facts)
  } finally {
    crowd.stop()
  }
}

interface DefinedSale {
  readonly activityId: number
  readonly skuIds: number[]
  readonly opensAt: number
  readonly endsAt: number
}

async function defineSale(admin: AdminClient, options: StartOptions): Promise<DefinedSale> {
  const opensAt = Date.now() + OPENS_IN_MS
  const closesAt = opensAt + saleMsMax(options) * 5
  const terms = activityTerms(options, opensAt, closesAt)
  const { id: activityId } = await admin.call<{ id: number }>('POST', 'activities', terms)
  const skuIds: number[] = []
  for (let index = 0; index < options.skus; index++) {
    const product = skuTerms(options, index)
    skuIds.push((await admin.call<{ id: number }>('POST', `activities/${activityId}/skus`, product)).id)
  }
  await admin.call('POST', `activities/${activityId}/actions/schedule`)
  return { activityId, skuIds, opensAt, endsAt: opensAt + saleMsMax(options) }
}

async function untilSettled(admin: AdminClient, activityId: number): Promise<Invariants> {
  const deadline = Date.now() + SETTLE_MS_MAX
  for (;;) {
    const all = await admin.call<Invariants>('GET', 'invariants')
    const skus = all.skus.filter((sku) => sku.activityId === activityId)
    const isSettled = skus.every((sku) => sku.held === 0 && sku.outstanding === 0 && isStored(sku))
    if (isSettled || Date.now() > deadline) return { ok: all.ok, skus }
    await sleep(SETTLE_EVERY_MS)
  }
}

function isStored(sku: Invariants['skus'][number]): boolean {
  return sku.orders === sku.reservedTotal && sku.paid + sku.expired + sku.cancelled + sku.refunds === sku.orders
}

async function grantedByMiddle(platform: Platform): Promise<number> {
  let granted = 0
  for (const port of platform.ports.middles) {
    const answer = await fetch(`http://127.0.0.1:${port + OPS_OFFSET}/metrics`, { signal: AbortSignal.timeout(5_000) })
    for (const match of (await answer.text()).matchAll(/^bigtap_middle_granted_total(?:\{[^}]*\})? (\d+)/gm)) {
      granted += Number(match[1])
    }
  }
  return granted
}

/** Which of the orders that buyers were promised PostgreSQL does not know. */
async function lostOrders(databaseUrl: string, { orders }: CrowdResult): Promise<string[]> {
  const db = await createDb({ url: databaseUrl, poolMax: 4 })
  try {
    const lost: string[] = []
    for (const { orderId } of orders) if (!(await db.orders.get(orderId))) lost.push(orderId)
    return lost
  } finally {
    await db.close()
  }
}

async function probeSession(origin: string): Promise<string> {
  const answer = await fetch(`${origin}/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uid: 999 }),
    signal: AbortSignal.timeout(5_000),
  })
  return ((await answer.json()) as { session: string }).session
}

function scheduleKill(platform: Platform, role: string, at: number, display: Display): void {
  setTimeout(async () => {
    const isDone = await platform.kill(role).catch((error: unknown) => String(error))
    display.step(`  kill -9 ${role}: ${isDone === true ? 'done' : `failed (${isDone})`}`)
  }, at - Date.now())
}

interface CrowdHandle {
  onProgress: (progress: Extract<CrowdReport, { type: 'progress' }>) => void
  tell(order: CrowdOrder): void
  wait<T extends CrowdReport['type']>(type: T, msMax: number): Promise<Extract<CrowdReport, { type: T }>>
  stop(): void
}

function startCrowd(): CrowdHandle {
  const child: ChildProcess = fork(join(root, 'loadtest/crowd/dist/main.js'), { detached: true })
  const handle: CrowdHandle = {
    onProgress: () => undefined,
    tell: (order) => child.send(order),
    wait: (type, msMax) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`the crowd did not say ${type} in ${msMax} ms`)), msMax)
        child.once('exit', (code) => reject(new Error(`the crowd's process ended with ${code}`)))
        child.on('message', (message: CrowdReport) => {
          if (message.type !== type) return
          clearTimeout(timer)
          resolve(message as Extract<CrowdReport, { type: typeof type }>)
        })
      }),
    stop: () => child.kill('SIGKILL'),
  }
  child.on('message', (message: CrowdReport) => message.type === 'progress' && handle.onProgress(message))
  return handle
}

function machineName(): string {
  const [cpu] = cpus()
  return `${cpu?.model ?? 'unknown processor'}, ${cpus().length} cores, Node.js ${process.versions.node}`
}
