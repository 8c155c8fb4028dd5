/** Puts master together: the run for the leadership, the reign while it leads, and the admin server before both. */

import type { Db, Reigning } from '@bigtap/db'
import type { Producer } from '@bigtap/eventlog'
import type { Clock, Logger, Metrics, Random } from '@bigtap/kernel'
import { createWorker, type Part } from '@bigtap/runtime'
import {
  type CatalogStore,
  type FigureReader,
  heartbeatLoop,
  type Ledger,
  type Nodes,
  type Reservations,
  type Store,
} from '@bigtap/store'
import { CATALOG_LIMITS } from './catalog-publisher.ts'
import { CONTROL_LIMITS } from './control.ts'
import { ALARMS_MAX } from './core/alarms.ts'
import { LEASE_MS } from './core/leadership.ts'
import { LOGIN_LIMITS } from './core/login-guard.ts'
import { ACK_NODES_MAX } from './core/node-acks.ts'
import { VERSIONS_MAX } from './document-history.ts'
import { parseAccounts, plainAccount } from './http/accounts.ts'
import { createAdminServer } from './http/admin-server.ts'
import { EDGE_LIMITS } from './http/edge.ts'
import { FORWARD_LIMITS } from './http/forwarder.ts'
import { ForwardingProof } from './http/forwarding-proof.ts'
import { STREAM_LIMITS } from './http/live-stream.ts'
import { Sessions } from './http/session.ts'
import { LeaderSeat } from './leader-seat.ts'
import { AUDIT_WAITING_MAX } from './record-keeper.ts'
import { REHEARSAL_MS, rehearse } from './rehearsal.ts'
import { createReign, type Reign } from './reign.ts'
import { CHANGES_WAITING_MAX } from './sale-desk.ts'
import { CONFIRM_LIMITS } from './stock-desk.ts'
import { VERDICT_LIMITS } from './verdict-desk.ts'
import { openWarehouse } from './warehouse.ts'

/** Settings of master (see config.ts). */
export interface MasterSettings {
  readonly nodeId: string
  readonly host: string
  /** Host at which other masters reach this one; empty: `host`. */
  readonly address: string
  readonly port: number
  readonly databaseUrl: string
  readonly tokenSecret: string
  readonly clusterSecret: string
  readonly routers: readonly string[]
  readonly operatorPassword: string
  readonly operators: string | undefined
  readonly preloadMs: number
  readonly confirmUnits: number
  readonly consoleDir: string | undefined
  readonly adminPassword: string | undefined
  /** `postgres`, `off`, or an http(s) address (see warehouse.ts). */
  readonly warehouse: string
  readonly warehouseToken: string | undefined
  readonly alertWebhook: string | undefined
}

/** Collaborators. */
export interface MasterParts {
  readonly db: Db
  readonly store: Store
  readonly ledger: Ledger
  readonly catalog: CatalogStore
  readonly nodes: Nodes
  readonly reservations: Reservations
  /** dcacenter's figures; without them the rules see nothing. */
  readonly figures?: Pick<FigureReader, 'onTick'>
  /** Where operators' verdicts are written down for whoever reads along; without it they are in the audit only. */
  readonly verdictTopic?: Producer
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: Metrics
}

/** Master, not started yet. Throws BAD_OPERATORS or BAD_WAREHOUSE. */
export function createMaster(settings: MasterSettings, parts: MasterParts) {
  const { clock, logger, nodes } = parts
  const proof = new ForwardingProof(settings.tokenSecret)
  const sessions = new Sessions({ accounts: accountsOf(settings), secret: settings.tokenSecret, proof, clock })
  const warehouse = openWarehouse(settings, { stock: parts.db.warehouse })
  let reign: Reign | undefined
  let ending: Promise<void> = Promise.resolve()
  const onWon = (reigning: Reigning) => {
    // A reign that is over already must not end the one after it.
    const onOver = (reason: string, above?: number) => void (reign === next && seat.resign(reason, above))
    const mayAct = () => seat.epoch() === reigning.epoch
    const next: Reign = createReign(settings, { ...parts, sessions, warehouse, mayAct, onOver }, reigning)
    reign = next
    void ending.then(() => next.start()) // the reign before has let go of everything
  }
  const onLost = () => {
    const over = reign
    reign = undefined
    const isNotClean = (error: unknown) => logger.warn({ error }, 'a reign did not end cleanly')
    ending = Promise.all([ending, over?.stop().catch(isNotClean)]).then(() => undefined)
  }
  const address = () => `${settings.address || settings.host}:${server.port()}`
  const seat = new LeaderSeat({ nodeId: settings.nodeId, address }, { ...parts, onWon, onLost })
  const acting = () => (reign?.state === 'acting' ? reign : undefined)
  parts.figures?.onTick((tick) => {
    acting()?.shares.onTick(tick)
    acting()
      ?.control.onTick(tick)
      .catch((error: unknown) => logger.warn({ error }, 'the rules could not be tried'))
  })
  const server = createAdminServer(settings, {
    ...{ logger, proof, app: () => acting()?.app, leaderAddress: () => seat.leaderAddress },
  })
  const beat = heartbeatLoop(nodes, () => ({
    ...{ id: settings.nodeId, role: 'master', state: 'ready', address: address(), statsAddress: '' },
    ...{ revision: acting()?.publisher.lastRevision ?? 0, digest: '', at: clock.now() },
  }))
  const rehearsal = () => (reign === undefined ? rehearse(settings.databaseUrl, parts.db) : undefined)
  const lifecycle: Part[] = [
    { name: 'admin', start: async () => void (await server.start()), stop: () => server.stop(), limits: limitsOf() },
    { name: 'heartbeat', start: beat.start, stop: beat.stop },
    createWorker({ name: 'rehearsal', everyMs: REHEARSAL_MS, work: rehearsal, startsAtOnce: true }, logger),
    {
      name: 'leadership',
      start: () => seat.start(),
      ready: () => acting()?.publisher.isSettled ?? seat.leaderAddress !== undefined,
      stop: async () => {
        await seat.stop()
        await ending
      },
    },
  ]
  const figures = () => figuresOf(seat, acting())
  return {
    parts: lifecycle,
    server,
    seat,
    figures,
    reign: acting,
    debug: () => [...(acting()?.book.sales.values() ?? [])],
  }
}

/** What dcacenter is told: does it lead, in which epoch, what is out, and what is wrong. */
function figuresOf(seat: LeaderSeat, reign: Reign | undefined) {
  if (reign === undefined) return { figures: { isLeader: 0, epoch: 0 } }
  const { publisher, links, alarms, book, keepers } = reign
  return {
    figures: {
      ...{ isLeader: 1, epoch: seat.epoch(), revision: publisher.lastRevision, routers: links.ready },
      ...{ alarms: alarms.firing, sales: book.sales.size, heldOpenings: keepers.heldOpenings },
    },
  }
}

function accountsOf({ operatorPassword, adminPassword, operators }: MasterSettings) {
  const more = parseAccounts((operators ?? '').split(',').filter((item) => item !== ''))
  const admin = adminPassword === undefined ? [] : [plainAccount('admin', 'admin', adminPassword)]
  return [plainAccount('operator', 'operator', operatorPassword), ...admin, ...more]
}

function limitsOf(): Record<string, unknown> {
  return {
    ...{ edge: EDGE_LIMITS, stream: STREAM_LIMITS, login: LOGIN_LIMITS, confirm: CONFIRM_LIMITS },
    ...{ lease: LEASE_MS, forward: FORWARD_LIMITS, catalog: CATALOG_LIMITS, alarmsMax: ALARMS_MAX },
    changesWaitingMax: CHANGES_WAITING_MAX,
    auditWaitingMax: AUDIT_WAITING_MAX,
    policyVersionsMax: VERSIONS_MAX,
    ackNodesMax: ACK_NODES_MAX,
    verdicts: VERDICT_LIMITS,
    ...CONTROL_LIMITS,
  }
}
