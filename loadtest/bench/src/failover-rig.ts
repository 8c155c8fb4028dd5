/** For the failover bench: the platform of `npm start` with one Middle process of our own, which nobody starts again. */

import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { SLOTS_KEY, type SlotTableDoc } from '@bigtap/domain'
import { nullLogger, slotOf } from '@bigtap/kernel'
import { AdminClient } from '@bigtap/local/admin'
import { parseArgs } from '@bigtap/local/args'
import { type Platform, startPlatform } from '@bigtap/local/platform'
import { type ProcessSpec, portsOf, processesOf } from '@bigtap/local/topology'
import { CatalogStore, connectStore, Nodes, type Store } from '@bigtap/store'
import { createKeyRing, issueSession, issueTicket, type KeyRing } from '@bigtap/token'

const PORT_BASE = 19_000
const SUPERVISED = 2
const OPENS_IN_MS = 4_000
const WAIT_MS_MAX = 30_000
const STOCK = 50_000
/** A node is dead after 1.5 s of silence, and the table follows within a look. */
const UNSEEN_MS = 2_000
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** A running platform with a sale that is open, and the node that is to be lost. */
export class FailoverRig {
  readonly victim: string
  readonly #platform: Platform
  readonly #spec: ProcessSpec
  readonly #store: Store
  readonly #catalog: CatalogStore
  readonly #nodes: Nodes
  readonly #ring: KeyRing
  #child: ChildProcess | undefined
  #activityId = 0
  #skuId = 0
  #opensAt = 0
  #uid = 0

  constructor(platform: Platform, spec: ProcessSpec) {
    this.#platform = platform
    this.#spec = spec
    this.victim = spec.name
    this.#store = connectStore({ url: redisUrl(platform), commandMsMax: 2_000 }, { logger: nullLogger })
    this.#catalog = new CatalogStore(this.#store)
    this.#nodes = new Nodes(this.#store)
    this.#ring = createKeyRing({ current: platform.secrets.token })
  }

  get pid(): number {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error('the node does not run')
    return pid
  }

  /** Starts the node; resolves when it owns its share of the slots. */
  async join(): Promise<void> {
    const log = openSync(join(this.#platform.logDir, `${this.victim}.log`), 'a')
    const { env, entry } = this.#spec
    this.#child = spawn(process.execPath, [join(ROOT, entry)], {
      cwd: ROOT,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
      stdio: ['ignore', log, log, 'ipc'],
    })
    closeSync(log)
    await this.settled()
  }

  /** Waits until the node has been ready and has owned its share for longer than a silence lasts that nobody has seen yet. */
  async settled(): Promise<void> {
    let since = performance.now()
    await until('the share of the node', async () => {
      if (!(await this.#hasShare())) since = performance.now()
      return performance.now() - since > UNSEEN_MS
    })
  }

  /** Is this buyer the node's, by the table of now? */
  async isVictims(): Promise<(uid: number) => boolean> {
    const { nodes, owners } = await this.#table()
    const own = owners.map((owner) => nodes[owner]?.id === this.victim)
    return (uid) => own[slotOf(uid)] === true
  }

  /** The next buyer that nobody has seen. */
  nextUid(isPicked: (uid: number) => boolean): number {
    for (let tries = 0; tries < 10_000; tries++) if (isPicked(++this.#uid)) return this.#uid
    throw new Error('the node owns no slot')
  }

  /** One ask at one of the limiters: its status, and the token if it was granted. */
  async buy(uid: number): Promise<{ status: number; token: string | undefined }> {
    const expiresAt = Date.now() + 60_000
    const what = { uid, activityId: this.#activityId, skuId: this.#skuId, notBefore: this.#opensAt, expiresAt }
    const { limiters } = this.#platform.ports
    const origin = `http://127.0.0.1:${limiters[uid % limiters.length]}`
    const headers = { authorization: `Bearer ${issueSession(this.#ring, { uid, expiresAt })}` }
    const answer = await fetch(`${origin}/v1/buy/${issueTicket(this.#ring, what)}`, { headers })
    const body = (await answer.json()) as { token?: string }
    return { status: answer.status, token: answer.status === 200 ? body.token : undefined }
  }

  async openSale(): Promise<void> {
    const admin = new AdminClient(this.#platform.ports.masters.map((port) => `http://127.0.0.1:${port}`))
    await admin.login('operator', this.#platform.secrets.operatorPassword)
    const opensAt = Date.now() + OPENS_IN_MS
    this.#opensAt = opensAt
    const terms = { title: 'bench', rule: 'once-per-product', opensAt, closesAt: opensAt + 3_600_000 }
    this.#activityId = (await admin.call<{ id: number }>('POST', 'activities', terms)).id
    const policy = { tokenSeconds: 3_600 }
    const sku = { title: 'bench', priceCents: 100, currency: 'CNY', stock: STOCK, limitPerBuyer: 1, policy }
    this.#skuId = (await admin.call<{ id: number }>('POST', `activities/${this.#activityId}/skus`, sku)).id
    await admin.call('POST', `activities/${this.#activityId}/actions/schedule`)
    await until('the opening', async () => (await this.buy(this.nextUid(() => true))).status === 200)
  }

  /** Ends our node for good. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await exited
  }

  async stop(): Promise<void> {
    await this.end('SIGKILL')
    await this.#store.close()
    await this.#platform.stop()
  }

  async #hasShare(): Promise<boolean> {
    const [{ nodes, owners }, heard] = [await this.#table(), await this.#nodes.list()]
    const index = nodes.findIndex(({ id }) => id === this.victim)
    const isReady = heard.some(({ id, state, ageMs }) => id === this.victim && state === 'ready' && ageMs < UNSEEN_MS)
    return isReady && owners.filter((owner) => owner === index).length > 300
  }

  async #table(): Promise<SlotTableDoc> {
    const found = (await this.#catalog.readSince(0)).find(({ key }) => key === SLOTS_KEY)?.body
    return (found ?? { epoch: 0, nodes: [], owners: [] }) as SlotTableDoc
  }
}

/** Starts everything and opens a sale. */
export async function startRig(): Promise<FailoverRig> {
  const parsed = parseArgs(['--idle', '--port-base', `${PORT_BASE}`, '--middles', `${SUPERVISED}`])
  if (!parsed.ok) throw new Error(parsed.errors.join('; '))
  const platform = await startPlatform(parsed.options, () => undefined)
  const ports = portsOf({ ...parsed.options, middles: SUPERVISED + 1 })
  const urls = { redis: redisUrl(platform), postgres: platform.databaseUrl, kafka: undefined }
  const spec = processesOf(ports, urls, platform.secrets)
    .flat()
    .find(({ name }) => name === `middle-${SUPERVISED + 1}`)
  if (spec === undefined) throw new Error('the topology has no further middle node')
  const rig = new FailoverRig(platform, spec)
  await rig.openSale()
  await rig.join()
  return rig
}

/** Waits until something holds. */
export async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WAIT_MS_MAX
  while (!(await condition().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`waited ${WAIT_MS_MAX} ms in vain for ${what}`)
    await sleep(20)
  }
}

function redisUrl({ ports }: Platform): string {
  return `redis://127.0.0.1:${ports.redis}`
}
