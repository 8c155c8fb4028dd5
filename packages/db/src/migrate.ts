/**
 * Applies prisma/migrations in order. `prisma migrate` needs an engine that must be downloaded; this runner does what
 * `prisma migrate deploy` does, with the same table, the same checksums and the same lock, so that both may be used in turn.
 */

import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CodedError } from '@bigtap/kernel'
import pg from 'pg'
import { DbError, guarded } from './errors.ts'

/** A migration as a folder holds it. */
export interface Migration {
  readonly name: string
  readonly sql: string
  /** SHA-256 of the file, as Prisma computes it. */
  readonly checksum: string
}

/** Where to apply what. */
export interface MigrateOptions {
  readonly dir?: string
  readonly connectMs?: number
  /** Most wait for another process that migrates, and for a statement, ms. */
  readonly lockMs?: number
}

/** Prisma's own advisory lock: its commands and this runner exclude each other. */
const LOCK = 72707369
const CREATE_TABLE = `
CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL,
  checksum VARCHAR(64) NOT NULL,
  finished_at TIMESTAMPTZ,
  migration_name VARCHAR(255) NOT NULL,
  logs TEXT,
  rolled_back_at TIMESTAMPTZ,
  started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  applied_steps_count INTEGER NOT NULL DEFAULT 0
)`

/** Brings the database up to date; returns the names of the migrations that were applied now. */
export async function migrate(
  url: string,
  { dir = migrationsDir(), connectMs = 5_000, lockMs = 60_000 }: MigrateOptions = {},
): Promise<string[]> {
  const migrations = readMigrations(dir)
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectMs, statement_timeout: lockMs })
  client.on('error', () => undefined) // what it breaks rejects by itself
  await guarded('connecting to migrate', () => client.connect())
  try {
    await guarded('waiting for other migrations', () => client.query('SELECT pg_advisory_lock($1)', [LOCK]))
    await guarded('reading migrations', () => client.query(CREATE_TABLE))
    const pending = pendingOf(migrations, await appliedOf(client))
    for (const migration of pending) await apply(client, migration)
    return pending.map(({ name }) => name)
  } finally {
    await client.end() // and the lock with it
  }
}

/** The migrations of a folder, by name. */
export function readMigrations(dir: string): Migration[] {
  const names = readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(dir, entry.name, 'migration.sql')))
    .map((entry) => entry.name)
    .sort()
  return names.map((name) => {
    const sql = readFileSync(join(dir, name, 'migration.sql'), 'utf8')
    return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
  })
}

interface Applied {
  readonly name: string
  readonly checksum: string
  readonly isFinished: boolean
}

async function appliedOf(client: pg.Client): Promise<Applied[]> {
  const query = `
    SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS "isFinished" FROM _prisma_migrations
    WHERE rolled_back_at IS NULL ORDER BY started_at`
  return (await guarded('reading migrations', () => client.query<Applied>(query))).rows
}

/** What is still to do; refuses to go on over a migration that failed half-way, or that was changed after it was applied. */
function pendingOf(migrations: readonly Migration[], applied: readonly Applied[]): Migration[] {
  const known = new Map(applied.map((row) => [row.name, row]))
  return migrations.filter(({ name, checksum }) => {
    const row = known.get(name)
    if (!row) return true
    if (!row.isFinished) throw refusal('MIGRATION_FAILED', `migration ${name} has failed before`, { name })
    if (row.checksum === checksum) return false
    throw refusal('MIGRATION_CHANGED', `migration ${name} was changed after it was applied`, { name })
  })
}

async function apply(client: pg.Client, { name, sql, checksum }: Migration): Promise<void> {
  const id = randomUUID()
  const start = 'INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ($1, $2, $3)'
  await guarded('noting a migration', () => client.query(start, [id, checksum, name]))
  try {
    await client.query(sql) // one message: PostgreSQL runs it as one transaction
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    // All of it was taken back: noted as such, it is tried again the next time.
    const undo = 'UPDATE _prisma_migrations SET rolled_back_at = now(), logs = $2 WHERE id = $1'
    await guarded('noting a failed migration', () => client.query(undo, [id, said]))
    throw new DbError({
      code: 'DB_REJECTED',
      message: `migration ${name} failed: ${said}`,
      data: { name },
      cause: error,
    })
  }
  const finish = 'UPDATE _prisma_migrations SET finished_at = now(), applied_steps_count = 1 WHERE id = $1'
  await guarded('noting a migration', () => client.query(finish, [id]))
}

function refusal(code: string, message: string, data: Record<string, unknown>): CodedError {
  return new CodedError({ code, message, data })
}

/** The same from src and from dist. */
function migrationsDir(): string {
  return join(dirname(dirname(fileURLToPath(import.meta.url))), 'prisma', 'migrations')
}
