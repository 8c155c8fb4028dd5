import { DEFAULT_WAITING, NO_CHALLENGE } from '@bigtap/domain'
import { type Engine, startPostgres } from '@bigtap/testkit'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDb, type Db, migrate, type NewActivity } from './index.ts'

let postgres: Engine
let db: Db

beforeAll(async () => {
  postgres = await startPostgres()
  await migrate(postgres.url)
  db = createDb({ url: postgres.url })
}, 60_000)

afterAll(async () => {
  await db?.close()
  await postgres?.stop()
})

const activity: NewActivity = {
  ...{
    title: 'Launch',
    opensAt: 1_000,
    closesAt: 9_000,
    rule: 'unlimited',
    admission: 'direct',
    waiting: DEFAULT_WAITING,
    challenge: NO_CHALLENGE,
    accessLimits: [],
  },
  reservation: { required: false, opensAt: 0, closesAt: 0 },
}
const stale = expect.objectContaining({ code: 'STALE_EPOCH' })

test('a leader that was deposed changes nothing any more, and still reads', async () => {
  const first = { epoch: 1, owner: 'master-1' }
  expect(await db.lead(first)).toEqual(first)
  const older = db.fencedBy(first)
  const { id } = await older.definitions.createActivity(activity)
  const second = { epoch: 2, owner: 'master-2' }

  expect(await db.lead(second)).toEqual(second)

  await expect(older.definitions.createActivity(activity)).rejects.toEqual(stale)
  await expect(older.definitions.setActivityState(id, ['draft'], 'scheduled')).rejects.toEqual(stale)
  await expect(older.definitions.deleteActivity(id)).rejects.toEqual(stale)
  await expect(older.definitions.setSetting('x', 1)).rejects.toEqual(stale)
  await expect(older.audit.append({ actor: 'a', role: 'operator', action: 'x', subject: 'y' })).rejects.toEqual(stale)
  expect((await older.definitions.getActivity(id))?.state).toBe('draft')
  expect((await db.fencedBy(second).definitions.setActivityState(id, ['draft'], 'scheduled'))?.state).toBe('scheduled')
})

test('an epoch that is not above the last one does not take over', async () => {
  const stands = { epoch: 9, owner: 'master-1' }
  await db.lead(stands)

  expect(await db.lead({ epoch: 8, owner: 'master-2' })).toEqual(stands)
  expect(await db.lead({ epoch: 9, owner: 'master-2' })).toEqual(stands)
  expect(await db.lead(stands)).toEqual(stands)
})

test('taking over waits for the change that is under way, and not for a process that stands still amid one', async () => {
  await db.lead({ epoch: 20, owner: 'master-1' })
  const stopped = new pg.Client({ connectionString: postgres.url, idle_in_transaction_session_timeout: 300 })
  stopped.on('error', () => undefined) // PostgreSQL ends its session
  await stopped.connect()
  await stopped.query("BEGIN; SELECT value FROM settings WHERE key = 'master.epoch' FOR SHARE")

  expect(await db.lead({ epoch: 21, owner: 'master-2' })).toEqual({ epoch: 21, owner: 'master-2' })

  await expect(stopped.query('COMMIT')).rejects.toThrow()
})
