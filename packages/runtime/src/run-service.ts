/**
 * The life of a service's process:
 *
 * ```
 * settings ─► build ─► start parts in order ─► ready … signal ─► stop parts in reverse, under a deadline ─► exit
 * ```
 * A second signal exits at once; so does the end of the parent when BIGTAP_PARENT=on.
 */

import type { Server } from 'node:http'
import type { Clock, Logger, Metrics, Random } from '@bigtap/kernel'
import { createLogger } from './logger.ts'
import { systemClock, systemRandom } from './machine.ts'
import { createMetrics } from './metrics.ts'
import { startOpsServer } from './ops-server.ts'
import { loadSettings, maskSettings, SettingsError, type SettingsOf, type SettingsSpec } from './settings.ts'

/** Something with a life: started in order, stopped in reverse. `limits` are shown at /debug/config. */
export interface Part {
  readonly name: string
  start?(): Promise<void> | void
  stop?(): Promise<void> | void
  ready?(): boolean
  readonly limits?: Readonly<Record<string, unknown>>
}

/** What a composition root gets. `page` adds a JSON page to the operations port. */
export interface ServiceContext<Spec extends SettingsSpec> {
  readonly settings: SettingsOf<Spec>
  readonly logger: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  readonly random: Random
  page(path: string, read: () => unknown): void
}

/** Settings that every service's specification has (see `baseSettings`). */
interface BaseValues {
  readonly host: string
  readonly opsPort: number
  readonly logLevel: string
}

const STOP_MS_MAX = 10_000
const LAG_EVERY_MS = 1_000

/** Runs a service until it is told to stop. Bad settings end the process with all errors listed, before anything starts. */
export async function runService<Spec extends SettingsSpec>(
  name: string,
  spec: Spec,
  build: (context: ServiceContext<Spec>) => Promise<Part[]> | Part[],
): Promise<void> {
  const settings = read(name, spec)
  const { host, opsPort, logLevel } = settings as unknown as BaseValues
  const logger = createLogger({ service: name, level: logLevel })
  const metrics = createMetrics()
  const pages = new Map<string, () => unknown>()
  const started: Part[] = []
  let parts: Part[] = []
  let isUp = false
  let ops: Server | undefined

  const stop = stopper(logger, async () => {
    isUp = false
    for (const part of [...started].reverse()) await part.stop?.()
    ops?.closeAllConnections()
    ops?.close()
  })
  watchProcess(logger, stop)
  watchEventLoop(metrics, name)
  try {
    const waitingFor = () => parts.filter((part) => part.ready?.() === false).map((part) => part.name)
    const config = () => ({
      settings: maskSettings(spec, settings),
      limits: Object.fromEntries(parts.flatMap((part) => (part.limits ? [[part.name, part.limits]] : []))),
    })
    const source = { metrics, isReady: () => isUp && waitingFor().length === 0, waitingFor, config, pages }
    ops = await startOpsServer(host, opsPort, source)
    const page = (path: string, reader: () => unknown) => void pages.set(path, reader)
    parts = await build({ settings, logger, metrics, clock: systemClock, random: systemRandom, page })
    for (const part of parts) {
      started.push(part)
      await part.start?.()
    }
    isUp = true
    logger.info({ opsPort }, `${name} is up`)
  } catch (error) {
    logger.error({ error }, `${name} could not be started`)
    await stop(1)
  }
}

function read<Spec extends SettingsSpec>(name: string, spec: Spec): SettingsOf<Spec> {
  try {
    return loadSettings(spec, process.env)
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    console.error(`${name}: ${error.message}`)
    process.exit(2)
  }
}

/** Stops once, under a deadline; a second call exits at once. */
function stopper(logger: Logger, stopParts: () => Promise<void>): (code: number) => Promise<void> {
  let isStopping = false
  return async (code) => {
    if (isStopping) process.exit(1)
    isStopping = true
    const late = setTimeout(() => {
      logger.error({ stopMsMax: STOP_MS_MAX }, 'stopping took too long')
      process.exit(1)
    }, STOP_MS_MAX)
    await stopParts().catch((error: unknown) => logger.error({ error }, 'a part did not stop cleanly'))
    clearTimeout(late)
    process.exit(code)
  }
}

function watchProcess(logger: Logger, stop: (code: number) => Promise<void>): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(0))
  if (process.env.BIGTAP_PARENT === 'on' && process.send) process.on('disconnect', () => void stop(0))
  const die = (error: unknown) => {
    logger.error({ error }, 'a bug: the process ends and is to be restarted')
    process.exit(1)
  }
  process.on('uncaughtException', die)
  process.on('unhandledRejection', die)
}

function watchEventLoop(metrics: Metrics, name: string): void {
  let lagMs = 0
  let due = performance.now() + LAG_EVERY_MS
  setInterval(() => {
    lagMs = Math.max(0, performance.now() - due)
    due = performance.now() + LAG_EVERY_MS
  }, LAG_EVERY_MS).unref()
  const prefix = `bigtap_${name.replaceAll('-', '_')}`
  metrics.gauge(`${prefix}_event_loop_lag_seconds`, 'how late the event loop is', () => lagMs / 1000)
}
