import { type Clock, type Logger, nullLogger } from '@bigtap/kernel'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { type Audit, createAudit } from './audit.ts'
import { createDeadLetters, type DeadLetters } from './dead-letters.ts'
import { createDefinitions, type Definitions } from './definitions.ts'
import { guarded } from './errors.ts'
import { fencedClient, type Reigning, takeFence } from './fence.ts'
import { PrismaClient } from './generated/client.ts'
import { createOrders, type Orders } from './orders.ts'
import { createPayments, type Payments } from './payments.ts'
import { createRules, type Rules } from './rules.ts'
import { createWarehouseStock, type WarehouseStock } from './warehouse-stock.ts'

/** Where the database is, and how long it may take. */
export interface DbSettings {
  readonly url: string
  /** Most connections. */
  readonly poolMax?: number
  /** Wait for a connection, ms. */
  readonly connectMs?: number
  /** Most time of a statement, ms. */
  readonly statementMs?: number
}

/** The record of the sale in PostgreSQL. */
export interface Db {
  readonly orders: Orders
  readonly payments: Payments
  readonly deadLetters: DeadLetters
  readonly definitions: Definitions
  readonly audit: Audit
  readonly rules: Rules
  readonly warehouse: WarehouseStock
  /** Takes over from an older leader; returns who leads now. */
  lead(reigning: Reigning): Promise<Reigning>
  /** The same record, changed only while that leader is the newest: otherwise STALE_EPOCH. */
  fencedBy(reigning: Reigning): Db
  /** Opens all connections that there may be, so that the first crowd does not wait for them; they stay open. */
  warm(): Promise<void>
  /** Rejects when the database does not answer. */
  ping(): Promise<void>
  close(): Promise<void>
}

const IDLE_IN_TRANSACTION_MS = 1_000

/** Opens the database; connections are made when they are needed, and again after they were lost. */
export function createDb(
  { url, poolMax = 8, connectMs = 2_000, statementMs = 5_000 }: DbSettings,
  { clock = { now: Date.now }, logger = nullLogger }: { clock?: Pick<Clock, 'now'>; logger?: Logger } = {},
): Db {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolMax,
    // A connection costs some 10 ms of two processes: what is open stays open.
    min: poolMax,
    connectionTimeoutMillis: connectMs,
    statement_timeout: statementMs,
    // The server may be gone without a word: the client gives up a little later than the server would.
    query_timeout: statementMs + 500,
    // A process that was stopped amid a change must not keep its successor out.
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    application_name: 'bigtap',
  })
  const onLost = (error: Error) => logger.warn({ error: error.message }, 'lost a connection to the database')
  pool.on('error', onLost)
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool, { onConnectionError: onLost }) })
  const now = () => clock.now()
  const repositories = (client: PrismaClient) => ({
    orders: createOrders(pool, client, now),
    payments: createPayments(client, now),
    deadLetters: createDeadLetters(client, now),
    definitions: createDefinitions(client, now),
    audit: createAudit(client, now),
    rules: createRules(client, now),
    warehouse: createWarehouseStock(pool, now),
  })
  const db: Db = {
    ...repositories(prisma),
    lead: (reigning) => takeFence(prisma, reigning, now()),
    fencedBy: (reigning) => ({ ...db, ...repositories(fencedClient(prisma, reigning)) }),
    async warm() {
      const opened = await Promise.all(Array.from({ length: poolMax }, () => pool.connect()))
      for (const client of opened) client.release()
    },
    ping: async () => void (await guarded('a ping', () => pool.query('SELECT 1'))),
    async close() {
      await prisma.$disconnect()
      await pool.end()
    },
  }
  return db
}
