/** An engine as a child process: started, watched until it answers, stopped by its process id, never left behind. */

import { type ChildProcess, spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A running engine. */
export interface Engine {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Asks it to stop and waits; kills it when it does not stop in time. */
  stop(): Promise<void>
  /** kill -9, and waits until it has gone. */
  kill(): Promise<void>
}

/** What to run. `isReady` is asked until it says yes. */
export interface EngineCommand {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly port: number
  readonly url: string
  readonly env?: Record<string, string>
  readonly cwd?: string
  readonly uid?: number
  readonly gid?: number
  readonly stopSignal?: NodeJS.Signals
  readonly readyMsMax: number
  readonly isReady: () => Promise<boolean>
}

const PROBE_EVERY_MS = 25
const STOP_MS_MAX = 10_000
const LOG_BYTES_MAX = 8_192

/**
 * A shell that outlives nothing: it waits for the end of its standard input, which comes when our process has gone for
 * whatever reason, and then kills the engine. `kill -9` of the parent leaves no engine behind.
 */
const WATCHDOG = 'read -r _; kill -9 "$1" 2>/dev/null'

/** Starts an engine and resolves when it answers; rejects with the end of its output when it does not. */
export async function startEngine(spec: EngineCommand): Promise<Engine> {
  const child = spawn(spec.command, spec.args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...spec.env },
    detached: true,
    ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
    ...(spec.uid === undefined ? {} : { uid: spec.uid }),
    ...(spec.gid === undefined ? {} : { gid: spec.gid }),
  })
  let output = ''
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-LOG_BYTES_MAX)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (error) => reject(new Error(`${spec.name} could not be started: ${error.message}`)))
  })
  failed.catch(() => undefined)
  const watchdog = watch(child)
  await Promise.race([untilReady(spec, child, () => output), failed])
  const end = async (signal: NodeJS.Signals) => {
    await stopChild(child, signal)
    watchdog?.kill('SIGKILL')
  }
  return {
    url: spec.url,
    port: spec.port,
    pid: child.pid ?? 0,
    stop: () => end(spec.stopSignal ?? 'SIGTERM'),
    kill: () => end('SIGKILL'),
  }
}

/** A port that is free now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}

/** Does anything accept a connection there? */
export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: 500 })
    const answer = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', () => answer(true))
    socket.once('error', () => answer(false))
    socket.once('timeout', () => answer(false))
  })
}

function watch(child: ChildProcess): ChildProcess | undefined {
  if (child.pid === undefined) return undefined
  const watchdog = spawn('/bin/sh', ['-c', WATCHDOG, 'sh', `${child.pid}`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  watchdog.on('error', () => undefined)
  watchdog.unref()
  return watchdog
}

async function untilReady(spec: EngineCommand, child: ChildProcess, output: () => string): Promise<void> {
  const deadline = performance.now() + spec.readyMsMax
  while (performance.now() < deadline && child.exitCode === null && child.signalCode === null) {
    if (await spec.isReady()) return
    await sleep(PROBE_EVERY_MS)
  }
  await stopChild(child, 'SIGKILL')
  throw new Error(`${spec.name} did not start; it said:\n${output().trimEnd()}`)
}

async function stopChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill(signal)
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
  await exited
  clearTimeout(late)
}
