import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { defineSettings, describeSettings, loadSettings, maskSettings, SettingsError, setting } from './settings.ts'

const spec = defineSettings({
  port: setting.port('BIGTAP_PORT', { default: 8000, doc: 'port to listen on' }),
  waitMs: setting.durationMs('BIGTAP_WAIT_MS', { default: 500, doc: 'how long, ms' }),
  share: setting.number('BIGTAP_SHARE', { default: 0.5, doc: 'a share' }),
  isOn: setting.boolean('BIGTAP_ON', { default: false, doc: 'a switch' }),
  nodes: setting.list('BIGTAP_NODES', { default: ['a'], doc: 'names' }),
  databaseUrl: setting.string('BIGTAP_DATABASE_URL', { doc: 'where the database is' }),
  secret: setting.secret('BIGTAP_SECRET', { default: 'known to everybody', doc: 'a key' }),
  extra: setting.optionalSecret('BIGTAP_EXTRA', { doc: 'another key' }),
})
const good = { BIGTAP_DATABASE_URL: 'postgres://u:hidden@h/db', BIGTAP_SECRET: 'a good long secret' }

function errorsOf(env: Record<string, string>): readonly string[] {
  try {
    loadSettings(spec, env)
  } catch (error) {
    if (error instanceof SettingsError) return error.errors
    throw error
  }
  return []
}

test('what is not given has its default, and the values cannot be changed', () => {
  const settings = loadSettings(spec, good)

  expect(settings).toMatchObject({ port: 8000, waitMs: 500, share: 0.5, isOn: false, nodes: ['a'], extra: undefined })
  expect(Object.isFrozen(settings)).toBe(true)
})

test('texts are read to their kinds, and an empty one is as good as none', () => {
  const given = { BIGTAP_PORT: '', BIGTAP_WAIT_MS: '20', BIGTAP_SHARE: '0.25', BIGTAP_ON: 'on', BIGTAP_NODES: 'x, y,' }

  const settings = loadSettings(spec, { ...good, ...given })

  expect(settings).toMatchObject({ port: 8000, waitMs: 20, share: 0.25, isOn: true, nodes: ['x', 'y'] })
})

test('everything that is wrong is said at once, without the secrets', () => {
  const bad = {
    BIGTAP_PORT: '70000',
    BIGTAP_WAIT_MS: '-1',
    BIGTAP_SHARE: 'half',
    BIGTAP_ON: 'maybe',
    BIGTAP_EXTRA: 'short',
  }

  const errors = errorsOf(bad)

  const named = ['PORT', 'WAIT_MS', 'SHARE', 'ON', 'DATABASE_URL', 'SECRET', 'EXTRA'].map((name) => `BIGTAP_${name}`)
  expect(errors.map((error) => error.split(' ')[0])).toEqual(named)
  expect(errors.join()).not.toContain('short')
})

test('a secret that everybody knows works in development only, however it is given', () => {
  const { BIGTAP_SECRET: _secret, ...withoutSecret } = good
  const spelledOut = { ...good, BIGTAP_SECRET: 'known to everybody' }

  expect(errorsOf(withoutSecret)).toHaveLength(1)
  expect(errorsOf(spelledOut)).toHaveLength(1)
  expect(loadSettings(spec, { ...withoutSecret, BIGTAP_DEV: 'on' }).secret).toBe('known to everybody')
  expect(loadSettings(spec, { ...spelledOut, BIGTAP_DEV: 'on' }).secret).toBe('known to everybody')
})

test('a secret is read from the file that is named, and a file that is not there is an error', () => {
  const dir = mkdtempSync(join(tmpdir(), 'bigtap-settings-'))
  const file = join(dir, 'secret')
  writeFileSync(file, 'the secret of the file\n')

  const settings = loadSettings(spec, { ...good, BIGTAP_SECRET_FILE: file })
  rmSync(dir, { recursive: true })

  expect(settings.secret).toBe('the secret of the file')
  expect(errorsOf({ ...good, BIGTAP_SECRET_FILE: file })[0]).toContain('cannot be read')
})

test('secrets and passwords in connection URLs are masked', () => {
  const shown = JSON.stringify(maskSettings(spec, loadSettings(spec, good)))

  expect(shown).not.toContain('a good long secret')
  expect(shown).not.toContain('hidden')
  expect(shown).toContain('"BIGTAP_PORT":8000')
})

test('each setting is described in one row, without its default secret', () => {
  const rows = describeSettings(spec)

  expect(rows).toHaveLength(8)
  expect(rows[0]).toBe('| `BIGTAP_PORT` | port | `8000` | port to listen on |')
  expect(rows.join('\n')).not.toContain('known to everybody')
})
