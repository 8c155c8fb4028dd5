/** A local redis-server (or valkey-server) with an append-only file. */

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { dataFolder, type Engine, freePort, startEngine } from './process.ts'

/** How to start it. Without a folder a temporary one is made; without a port a free one is taken. */
export interface RedisOptions {
  readonly dir?: string
  readonly port?: number
  readonly appendfsync?: 'always' | 'everysec' | 'no'
}

const READY_MS_MAX = 20_000
const INSTALL_MS_MAX = 180_000
const NAMES = ['redis-server', 'valkey-server']

/** Starts it; a folder that holds data already is loaded, and the start waits until it is. */
export async function startRedis(options: RedisOptions = {}): Promise<Engine> {
  const folder = dataFolder(options.dir, 'redis')
  const port = options.port ?? (await freePort())
  return startEngine({
    name: 'redis',
    command: findRedis(),
    args: [
      ...['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder.dir, '--save', '', '--daemonize', 'no'],
      ...['--appendonly', 'yes', '--appendfsync', options.appendfsync ?? 'everysec', '--loglevel', 'notice'],
      // Rewriting the log while a sale is on would cost more than the log's size.
      ...['--auto-aof-rewrite-percentage', '0', '--maxclients', '1024'],
    ],
    port,
    folder,
    url: `redis://127.0.0.1:${port}`,
    readyMsMax: READY_MS_MAX,
    isReady: () => pings(port),
  })
}

/** The path of the server: on PATH, else installed by the system's packages where we may; else one clear line. */
export function findRedis(): string {
  const found = NAMES.map(onPath).find((path) => path !== undefined)
  if (found !== undefined) return found
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    console.error('setup: installing redis-server with apt-get')
    spawnSync('apt-get', ['update'], { stdio: 'ignore', timeout: INSTALL_MS_MAX })
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'redis-server'], {
      stdio: 'ignore',
      timeout: INSTALL_MS_MAX,
      env,
    })
    const installed = NAMES.map(onPath).find((path) => path !== undefined)
    if (installed !== undefined) return installed
  }
  throw new Error(
    'redis-server was not found: install it (Debian: apt-get install redis-server; macOS: brew install redis)',
  )
}

function onPath(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin']
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
}

function pings(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: 500 })
    const answer = (isUp: boolean) => {
      socket.destroy()
      resolve(isUp)
    }
    socket.once('connect', () => socket.write('PING\r\n'))
    // While it loads its file it answers -LOADING.
    socket.once('data', (data) => answer(data.toString().startsWith('+PONG')))
    socket.once('error', () => answer(false))
    socket.once('timeout', () => answer(false))
  })
}
