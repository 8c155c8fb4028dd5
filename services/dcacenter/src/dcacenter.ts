/** dcacenter put together from its parts: used by main.ts, by tests and by benches. */

import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock, Logger, Metrics, Random } from '@bigtap/kernel'
import type { NameLease, Nodes, PushList } from '@bigtap/store'
import { History } from './core/history.ts'
import { Keyspace } from './core/keyspace.ts'
import { Memory, REFUSED } from './core/memory.ts'
import { Puller } from './puller.ts'
import { PushTaker } from './push-taker.ts'
import { REDIS_VERSION } from './resp/connection-commands.ts'
import { RespServer } from './resp/server.ts'
import { Ticker } from './ticker.ts'

/** What a dcacenter is told. */
export interface DcacenterSettings {
  readonly nodeId: string
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  readonly clusterSecret: string
  readonly pullMs: number
  readonly password: string | undefined
}

/** What a dcacenter works with. */
export interface DcacenterParts {
  readonly nodes: Pick<Nodes, 'list'>
  readonly list: Pick<PushList, 'take'>
  readonly lease: Pick<NameLease, 'hold' | 'release'>
  readonly logger: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  readonly random: Random
  /** Its own process. */
  readFigures(): Readonly<Record<string, number>>
}

/** Puts a dcacenter together; nothing starts here. */
export function createDcacenter(settings: DcacenterSettings, parts: DcacenterParts) {
  const { clock, metrics } = parts
  const memory = new Memory()
  const history = new History()
  const keyspace = new Keyspace({ memory, history, now: () => clock.monotonic() })
  const isPassword = passwordCheck(settings.password)
  const server = new RespServer(settings, { ...parts, context: { keyspace, isPassword, info: () => info() } })
  const noteSelf = () => {
    const moment = { now: clock.monotonic(), wall: clock.now() }
    const figures = { ...parts.readFigures(), clients: server.clients, series: history.size }
    const stats = { nodeId: settings.nodeId, role: 'dcacenter', at: moment.wall, figures, labels: {}, skus: [] }
    memory.apply(stats, { by: 'pull', ...moment })
    memory.noteAddress(settings.nodeId, `${settings.host}:${settings.port}`)
  }
  const ticker = new Ticker({ memory, history, keyspace, publisher: server, clock, onTick: noteSelf })
  const puller = new Puller(settings, { ...parts, memory, onRound: () => ticker.onRound() })
  const taker = new PushTaker({ ...parts, memory })
  const startedAt = clock.monotonic()
  const uptime = () => Math.floor((clock.monotonic() - startedAt) / 1_000)
  const info = () => infoOf({ memory, history, server, puller, taker }, uptime(), clock.monotonic())
  declareMetrics(metrics, memory, history)
  return { memory, history, keyspace, server, ticker, puller, taker, info }
}

interface Told {
  readonly memory: Memory
  readonly history: History
  readonly server: RespServer
  readonly puller: Puller
  readonly taker: PushTaker
}

/** Sections of INFO; clients look for `loading` and `role` before they begin. */
function infoOf({ memory, history, server, puller, taker }: Told, uptimeSeconds: number, now: number) {
  const refused = [...memory.refused].map(([reason, count]) => [`refused_${reason}`, count])
  return {
    server: { redis_version: REDIS_VERSION, redis_mode: 'standalone', uptime_in_seconds: uptimeSeconds },
    clients: { connected_clients: server.clients, maxclients: server.limits.clientsMax ?? 0 },
    persistence: { loading: 0 },
    replication: { role: 'master', connected_slaves: 0 },
    dcacenter: {
      taker: taker.isActive ? 'active' : 'standby',
      pull_interval_ms: puller.pace.everyMs,
      pulled_nodes: puller.size,
      nodes: [...memory.nodes(now)].length,
      skus: [...memory.skus(now)].length,
      series: history.size,
      refused_series: history.refused,
      ...Object.fromEntries(refused),
    },
  }
}

function declareMetrics(metrics: Metrics, memory: Memory, history: History): void {
  for (const reason of REFUSED)
    metrics.gauge(
      'bigtap_dcacenter_refused_total',
      'Figures refused, by reason',
      () => memory.refused.get(reason) ?? 0,
      {
        reason,
      },
    )
  metrics.gauge('bigtap_dcacenter_series_count', 'Series of the last 300 s', () => history.size)
  metrics.gauge('bigtap_dcacenter_series_refused_total', 'Values of series beyond the limit', () => history.refused)
}

/** Compares digests, in constant time: neither the length nor a beginning that fits can be felt. */
function passwordCheck(password: string | undefined): ((text: string) => boolean) | undefined {
  if (password === undefined) return undefined
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(password)
  return (text) => timingSafeEqual(digest(text), expected)
}
