/** An engine as a child process: started, watched until it answers, stopped by its process id, never left behind. */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A running engine. */
export interface Engine {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Where its data lies. One that we made goes when our process has gone; one that was given stays. */
  readonly dir: string
  /** Asks it to stop and waits; kills it when it does not stop in time. */
  stop(): Promise<void>
  /** kill -9, and waits until it has gone. */
  kill(): Promise<void>
}

/** A data folder, and whether it was made for this engine alone. */
export interface DataFolder {
  readonly dir: string
  readonly isTemporary: boolean
}

/** What to run. `isReady` is asked until it says yes. */
export interface EngineCommand {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly port: number
  readonly url: string
  readonly folder: DataFolder
  readonly env?: Record<string, string>
  readonly cwd?: string
  readonly uid?: number
  readonly gid?: number
  readonly stopSignal?: NodeJS.Signals
  readonly readyMsMax: number
  readonly isReady: (pid: number) => Promise<boolean>
}

const PROBE_EVERY_MS = 25
const STOP_MS_MAX = 10_000
const LOG_BYTES_MAX = 8_192

/**
 * A shell that watches our process: its standard input ends when we have gone, for whatever reason, `kill -9` too. Then it
 * stops the engine ($1) by the engine's own signal ($2), kills it after 5 s, and removes its temporary folder ($3). A line
 * on the input before that says that the engine has ended, and that its id may be another process by now.
 */
const WATCHDOG = `
if read -r ended; then read -r _; else
  kill -s "$2" "$1"; tries=0
  while kill -0 "$1" && [ $tries -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
  kill -s KILL "$1"
fi 2>/dev/null
tries=0
while [ -n "$3" ] && [ -e "$3" ] && [ $tries -lt 20 ]; do rm -rf "$3"; sleep 0.1; tries=$((tries + 1)); done 2>/dev/null`

/** Starts an engine and resolves when it answers; rejects with the end of its output when it does not. */
export async function startEngine(spec: EngineCommand): Promise<Engine> {
  if (await accepts(spec.port)) {
    if (spec.folder.isTemporary) rmSync(spec.folder.dir, { recursive: true, force: true })
    throw new Error(`${spec.name} cannot be started: port ${spec.port} is in use`)
  }
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
  watch(child, spec)
  await Promise.race([untilReady(spec, child, () => output), failed])
  return {
    url: spec.url,
    port: spec.port,
    pid: child.pid ?? 0,
    dir: spec.folder.dir,
    stop: () => stopChild(child, spec.stopSignal ?? 'SIGTERM'),
    kill: () => stopChild(child, 'SIGKILL'),
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

/** The folder that was given, or a new temporary one. */
export function dataFolder(dir: string | undefined, name: string): DataFolder {
  if (dir === undefined) return { dir: mkdtempSync(join(tmpdir(), `bigtap-${name}-`)), isTemporary: true }
  mkdirSync(dir, { recursive: true })
  return { dir, isTemporary: false }
}

function watch(child: ChildProcess, { folder, stopSignal = 'SIGTERM' }: EngineCommand): void {
  if (child.pid === undefined) return
  const args = [`${child.pid}`, stopSignal.slice('SIG'.length), folder.isTemporary ? folder.dir : '']
  const watchdog = spawn('/bin/sh', ['-c', WATCHDOG, 'bigtap-watchdog', ...args], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
  })
  watchdog.on('error', () => undefined)
  watchdog.stdin.on('error', () => undefined)
  watchdog.unref()
  const stdin = watchdog.stdin as Socket
  stdin.unref()
  child.once('exit', () => stdin.write('ended\n'))
}

async function untilReady(spec: EngineCommand, child: ChildProcess, output: () => string): Promise<void> {
  const deadline = performance.now() + spec.readyMsMax
  while (performance.now() < deadline && child.exitCode === null && child.signalCode === null) {
    if (await spec.isReady(child.pid ?? 0)) return
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
