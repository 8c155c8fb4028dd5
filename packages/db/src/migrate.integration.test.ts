import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, startPostgres } from '@bigtap/testkit'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate, readMigrations } from './index.ts'

let postgres: Engine
const dir = mkdtempSync(join(tmpdir(), 'bigtap-migrations-'))

beforeAll(async () => {
  postgres = await startPostgres()
  cpSync(join(import.meta.dirname, '..', 'prisma', 'migrations'), dir, { recursive: true })
})

afterAll(async () => {
  await postgres?.stop()
  rmSync(dir, { recursive: true, force: true })
})

async function query(text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  const { rows } = await client.query(text)
  await client.end()
  return rows
}

function write(name: string, sql: string): void {
  mkdirSync(join(dir, name), { recursive: true })
  writeFileSync(join(dir, name, 'migration.sql'), sql)
}

test('ten services that migrate at once apply each migration once', async () => {
  const applied = await Promise.all(Array.from({ length: 10 }, () => migrate(postgres.url, { dir })))

  const names = readMigrations(dir).map(({ name }) => name)
  expect(applied.flat()).toEqual(names)
  expect(await query('SELECT migration_name FROM _prisma_migrations ORDER BY started_at')).toEqual(
    names.map((name) => ({ migration_name: name })),
  )
})

test('the table says what Prisma itself would say', async () => {
  const rows = await query('SELECT * FROM _prisma_migrations')

  const [first] = readMigrations(dir)
  expect(rows[0]).toMatchObject({
    ...{ checksum: first?.checksum, applied_steps_count: 1, logs: null, rolled_back_at: null },
    ...{ id: expect.stringMatching(/^[0-9a-f-]{36}$/), finished_at: expect.any(Date), started_at: expect.any(Date) },
  })
})

test('a migration that fails leaves nothing behind, and is tried again when it was mended', async () => {
  write('20990101000000_bad', 'CREATE TABLE half (a int); SELECT no_such_function();')

  await expect(migrate(postgres.url, { dir })).rejects.toThrow('no_such_function')
  expect(await query("SELECT to_regclass('half') AS half")).toEqual([{ half: null }])

  write('20990101000000_bad', 'CREATE TABLE whole (a int);')
  expect(await migrate(postgres.url, { dir })).toEqual(['20990101000000_bad'])
  expect(await migrate(postgres.url, { dir })).toEqual([])
})

test('a migration that was changed after it was applied stops the start', async () => {
  write('20990101000000_bad', 'CREATE TABLE other (a int);')

  await expect(migrate(postgres.url, { dir })).rejects.toMatchObject({ code: 'MIGRATION_CHANGED' })
})

test('a migration that another tool left half-way stops the start', async () => {
  write('20990101000000_bad', 'CREATE TABLE whole (a int);')
  await query("UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name = '20990101000000_bad'")

  await expect(migrate(postgres.url, { dir })).rejects.toMatchObject({ code: 'MIGRATION_FAILED' })
})
