/** The platform on one machine: engines first, then every service as a process of its own; stops in reverse. */

import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startKafka, startPostgres, startRedis } from '@bigtap/engines'
import type { StartOptions } from './args.ts'
import { Supervisor } from './supervisor.ts'
import { type Ports, portClaims, portsOf, processesOf, type RunSecrets } from './topology.ts'

/** A running platform. */
export interface Platform {
  readonly ports: Ports
  readonly secrets: RunSecrets
  readonly databaseUrl: string
  readonly logDir: string
  /** Sends SIGKILL to a process of that role, engines included; it is started again with what it had on disk. */
  kill(role: string): Promise<boolean>
  /** Process ids of the services by name. */
  pids(): Map<string, number>
  stop(): Promise<void>
  killAll(): void
}

interface Engine {
  readonly url: string
  stop(): Promise<void>
  kill(): Promise<void> | void
}

const READY_MS_MAX = 30_000
const STOP_MS_MAX = 12_000
const RESTARTS_MAX = 20
const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))

/** Starts everything and resolves when it is ready to sell; on a failure what was started is stopped again. */
export async function startPlatform(options: StartOptions, say: (text: string) => void): Promise<Platform> {
  const ports = portsOf(options)
  await claimPorts(portClaims(ports, options.kafka))
  const runDir = mkdtempSync(join(tmpdir(), 'bigtap-'))
  const logDir = join(runDir, 'logs')
  mkdirSync(logDir)
  const engines = new Map<string, Engine>()
  const secrets = drawSecrets()
  const supervisor = new Supervisor(
    { root, logDir, readyMsMax: READY_MS_MAX, stopMsMax: STOP_MS_MAX, restartsMax: RESTARTS_MAX },
    (name, what, detail) => what !== 'ready' && say(`  ${name} ${what}: ${detail}`),
  )
  const stop = async () => {
    await supervisor.stop()
    for (const engine of [...engines.values()].reverse()) await engine.stop()
    rmSync(runDir, { recursive: true, force: true })
  }
  const killAll = () => {
    supervisor.killAll()
    for (const engine of engines.values()) void engine.kill()
  }
  const restartable = engineStarters(ports, runDir, options.kafka)
  try {
    await Promise.all([...restartable].map(async ([name, start]) => engines.set(name, await start())))
    const urls = {
      redis: engines.get('redis')?.url ?? '',
      postgres: engines.get('postgres')?.url ?? '',
      kafka: engines.get('kafka')?.url,
    }
    for (const group of processesOf(ports, urls, secrets, settingsOf(options))) await supervisor.startGroup(group)
  } catch (error) {
    await stop()
    throw error
  }
  const kill = async (role: string) => {
    const engine = engines.get(role)
    const start = restartable.get(role)
    if (!engine || !start) return supervisor.kill(role)
    await engine.kill()
    engines.set(role, await start())
    return true
  }
  return {
    ports,
    secrets,
    databaseUrl: engines.get('postgres')?.url ?? '',
    logDir,
    kill,
    pids: () => supervisor.pids(),
    stop,
    killAll,
  }
}

function settingsOf({ record }: StartOptions): Record<string, string> {
  return record === undefined ? {} : { BIGTAP_ANTIBLACK_RECORD: resolve(record) }
}

function engineStarters(ports: Ports, runDir: string, kafka: boolean): Map<string, () => Promise<Engine>> {
  const starters = new Map<string, () => Promise<Engine>>([
    ['redis', () => startRedis({ dir: join(runDir, 'redis'), port: ports.redis, appendfsync: 'always' })],
    ['postgres', () => startPostgres({ dir: join(runDir, 'postgres'), port: ports.postgres })],
  ])
  if (kafka) starters.set('kafka', () => startKafka({ dir: join(runDir, 'kafka'), port: ports.kafka }))
  return starters
}

function drawSecrets(): RunSecrets {
  const secret = () => randomBytes(32).toString('hex')
  const operatorPassword = process.env.BIGTAP_OPERATOR_PASSWORD ?? randomBytes(9).toString('base64url')
  return {
    token: secret(),
    cluster: secret(),
    payment: process.env.BIGTAP_PAYMENT_SECRET ?? secret(),
    operatorPassword,
    adminPassword: process.env.BIGTAP_ADMIN_PASSWORD ?? randomBytes(9).toString('base64url'),
  }
}

async function claimPorts(claims: ReadonlyMap<number, string>): Promise<void> {
  const taken: string[] = []
  for (const [port, name] of claims) if (!(await isFree(port))) taken.push(`${port} (${name})`)
  if (taken.length === 0) return
  const what = taken.length === 1 ? 'port is' : 'ports are'
  throw new Error(`these ${what} in use: ${taken.join(', ')}. Stop what holds them, or give --port-base N`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
