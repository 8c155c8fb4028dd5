/** Fronts, masters and routers over real sockets, for the tests of the router. */

import { FrontLinks, Mirror } from '@bigtap/catalog'
import { type Clock, nullLogger, nullMetrics, type Random } from '@bigtap/kernel'
import {
  type AbuseVerdictBatch,
  type BatchPosition,
  type CommandInit,
  decodeAckReport,
  decodeError,
  encodeCommandBatches,
  KIND,
  type NodeAck,
} from '@bigtap/protocol'
import { CatalogStore, connectStore, type DocumentChange, type Store } from '@bigtap/store'
import { createDialer, type Dialer } from '@bigtap/transport'
import { Router } from '../router.ts'

const SECRET = 'cluster secret of the router tests'
const clock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }
const random: Random = {
  next: () => Math.random(),
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
}
/** What everything here works with. */
export const parts = { logger: nullLogger, metrics: nullMetrics, clock, random }

/** Starts a router. */
export async function startRouter(nodeId: string, port = 0): Promise<{ router: Router; port: number }> {
  const router = new Router({ nodeId, host: '127.0.0.1', port, clusterSecret: SECRET, linksMax: 256 }, parts)
  return { router, port: (await router.start()).port }
}

/** A front: mirror over its own connection to Redis, and its links. */
export interface TestFront {
  readonly mirror: Mirror
  readonly links: FrontLinks
  readonly store: Store
  readonly calls: unknown[]
  readonly verdicts: AbuseVerdictBatch[]
  stop(): Promise<void>
}

/** Starts a front; `redisUrl` may lead through a proxy. */
export async function startFront(
  nodeId: string,
  { routers, redisUrl, role = 'limiter' }: { routers: readonly number[]; redisUrl: string; role?: string },
): Promise<TestFront> {
  const store = connectStore({ url: redisUrl, commandMsMax: 100 }, { logger: nullLogger })
  await store.waitUntilReady(5_000)
  const mirror = new Mirror({ service: 'test' }, { ...parts, catalog: new CatalogStore(store) })
  const calls: unknown[] = []
  const verdicts: AbuseVerdictBatch[] = []
  const links = new FrontLinks(
    {
      ...{ service: 'test', nodeId, role, clusterSecret: SECRET },
      routers: routers.map((port) => `127.0.0.1:${port}`),
    },
    {
      ...{ ...parts, mirror, loop: { readMs: () => 1 } },
      onCall: (name, args) => {
        if (name === 'fail') throw new Error('no such thing')
        calls.push([name, args])
      },
      onAbuseVerdicts: (batch) => void verdicts.push(batch),
    },
  )
  await mirror.start()
  links.start()
  const stop = async () => {
    mirror.stop()
    await links.stop()
    await store.close()
  }
  return { mirror, links, store, calls, verdicts, stop }
}

/** The leader: publishes and tells all routers, as master does. */
export class TestMaster {
  readonly acks = new Map<string, NodeAck>()
  readonly reports: NodeAck[] = []
  readonly errors: { code: string; message: string }[] = []
  sequence = 0
  head = 0
  readonly epoch: number
  readonly dialers: Dialer[]
  readonly #catalog: CatalogStore
  readonly #upTo = new Map<Dialer, number>()

  constructor(epoch: number, { routers, catalog }: { routers: readonly number[]; catalog: CatalogStore }) {
    this.epoch = epoch
    this.#catalog = catalog
    this.dialers = routers.map((port) =>
      createDialer(
        { nodeId: `master-${epoch}`, role: 'master', clusterSecret: SECRET, address: `127.0.0.1:${port}` },
        {
          ...parts,
          onLink: () => undefined,
          onFrame: (_link, kind, _correlation, body) => {
            if (kind === KIND.error) this.errors.push(decodeError(body))
            if (kind !== KIND.ackReport) return
            for (const node of decodeAckReport(body).nodes) {
              this.reports.push(node)
              this.acks.set(node.nodeId, node)
            }
          },
        },
      ),
    )
  }

  async start(): Promise<void> {
    for (const dialer of this.dialers) dialer.start()
    await Promise.all(this.dialers.map((dialer) => dialer.ready(5_000)))
    this.head = await this.#catalog.revision()
    this.send([])
  }

  async stop(): Promise<void> {
    await Promise.all(this.dialers.map((dialer) => dialer.stop()))
  }

  /** Publishes as one revision, then tells the routers. */
  async publish(changes: readonly DocumentChange[], init: Partial<CommandInit> = {}): Promise<number> {
    this.head = await this.#catalog.publish(changes, { epoch: this.epoch })
    this.send(changes.map(({ key, body }) => this.command(key, body, init)))
    return this.head
  }

  command(key: string, body: unknown, init: Partial<CommandInit> = {}): CommandInit {
    const isDeleted = body === null
    return {
      ...{ sequence: ++this.sequence, key, revision: this.head, isDeleted },
      ...{ body: isDeleted ? new Uint8Array(0) : Buffer.from(JSON.stringify(body)), ...init },
    }
  }

  send(commands: readonly CommandInit[]): void {
    for (const dialer of this.dialers) {
      const since = this.#upTo.get(dialer) ?? this.sequence - commands.length
      this.#tell(dialer, { epoch: this.epoch, since, upTo: this.sequence, head: this.head }, commands)
      this.#upTo.set(dialer, this.sequence)
    }
  }

  sendAhead(commands: readonly CommandInit[]): void {
    for (const dialer of this.dialers) {
      const at = this.#upTo.get(dialer) ?? 0
      this.#tell(dialer, { epoch: this.epoch, since: at, upTo: at, head: this.head }, commands)
    }
  }

  #tell(dialer: Dialer, position: BatchPosition, commands: readonly CommandInit[]): void {
    for (const body of encodeCommandBatches({ ...position, commands })) dialer.send(KIND.command, 1, body)
  }
}
