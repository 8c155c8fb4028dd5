/**
 * Starts processes, waits until each is ready, restarts what dies, stops everything in the reverse order.
 *
 * ```
 * starting ──ready──► running ──exit──► waiting ──backoff──► starting
 *     └──────────── stop ────────────────┴──► stopping ──exit──► stopped
 * ```
 * Each child leads a process group of its own, so that a Ctrl-C in the terminal reaches only this process, which then
 * stops the children in order; an IPC channel tells them when this process has gone.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessSpec } from './topology.ts'

/** Limits of the supervisor; all in milliseconds but for the count. */
export interface SupervisorSettings {
  readonly root: string
  readonly logDir: string
  readonly readyMsMax: number
  readonly stopMsMax: number
  readonly restartsMax: number
}

/** Told of what happens to a process. */
export type ProcessNotice = (name: string, what: 'ready' | 'died' | 'restarting' | 'gave-up', detail: string) => void

type ChildState = 'starting' | 'running' | 'waiting' | 'stopping' | 'stopped'

interface Child {
  readonly spec: ProcessSpec
  state: ChildState
  process: ChildProcess | undefined
  restarts: number
}

const PROBE_EVERY_MS = 50
const BACKOFF_FIRST_MS = 100
const BACKOFF_MAX_MS = 3_000
const LOG_TAIL_LINES = 15

/** Runs the platform's own processes (engines are started by packages/engines). */
export class Supervisor {
  readonly #settings: SupervisorSettings
  readonly #notice: ProcessNotice
  readonly #children: Child[] = []
  #isStopping = false

  constructor(settings: SupervisorSettings, notice: ProcessNotice) {
    this.#settings = settings
    this.#notice = notice
  }

  /** Starts a group side by side and resolves when all are ready; rejects with the tail of the log of one that is not. */
  async startGroup(specs: readonly ProcessSpec[]): Promise<void> {
    const children = specs.map((spec): Child => ({ spec, state: 'starting', process: undefined, restarts: 0 }))
    this.#children.push(...children)
    await Promise.all(children.map((child) => this.#launch(child)))
  }

  /** Sends SIGKILL to the first running process of a role; false when there is none. It will be restarted. */
  kill(role: string): boolean {
    const child = this.#children.find((one) => one.spec.role === role && one.state === 'running')
    return child?.process?.kill('SIGKILL') ?? false
  }

  /** Process ids by name, of those that run. */
  pids(): Map<string, number> {
    const pids = new Map<string, number>()
    for (const { spec, process: child } of this.#children) if (child?.pid !== undefined) pids.set(spec.name, child.pid)
    return pids
  }

  /** Stops all in the reverse order of their start; what does not stop in time is killed. */
  async stop(): Promise<void> {
    this.#isStopping = true
    for (const child of [...this.#children].reverse()) {
      const running = child.process
      child.state = 'stopping'
      if (running && running.exitCode === null && running.signalCode === null) await this.#stopOne(running)
      child.state = 'stopped'
    }
  }

  /** Kills all at once, without order. */
  killAll(): void {
    this.#isStopping = true
    for (const child of this.#children) child.process?.kill('SIGKILL')
  }

  async #stopOne(running: ChildProcess): Promise<void> {
    const exited = new Promise<void>((resolve) => running.once('exit', () => resolve()))
    running.kill('SIGTERM')
    const abort = new AbortController()
    const late = sleep(this.#settings.stopMsMax, 'late', { signal: abort.signal }).catch(() => 'aborted')
    const first = await Promise.race([exited, late])
    abort.abort()
    if (first !== 'late') return
    running.kill('SIGKILL')
    await exited
  }

  async #launch(child: Child): Promise<void> {
    child.state = 'starting'
    const log = openSync(this.#logFile(child.spec), 'a')
    const started = spawn(process.execPath, [join(this.#settings.root, child.spec.entry)], {
      cwd: this.#settings.root,
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        NODE_OPTIONS: process.env.NODE_OPTIONS,
        ...child.spec.env,
      },
      stdio: ['ignore', log, log, 'ipc'],
      detached: true,
    })
    closeSync(log)
    child.process = started
    started.on('error', () => undefined)
    started.once('exit', (code, signal) => this.#onExit(child, started, signal ?? `code ${code}`))
    await this.#untilReady(child, started)
  }

  async #untilReady(child: Child, started: ChildProcess): Promise<void> {
    const deadline = performance.now() + this.#settings.readyMsMax
    while (performance.now() < deadline) {
      if (started.exitCode !== null || started.signalCode !== null) break
      if (await isReady(child.spec.opsPort)) {
        child.state = 'running'
        this.#notice(child.spec.name, 'ready', `port ${child.spec.port}`)
        return
      }
      await sleep(PROBE_EVERY_MS)
    }
    if (this.#isStopping || child.restarts > 0) return
    throw new Error(`${child.spec.name} is not ready; its log ends with:\n${this.#logTail(child.spec)}`)
  }

  #onExit(child: Child, exited: ChildProcess, how: string): void {
    if (this.#isStopping || child.process !== exited) return
    const wasStarted = child.state === 'running' || child.restarts > 0
    child.state = 'waiting'
    if (!wasStarted) return
    this.#notice(child.spec.name, 'died', how)
    if (child.restarts >= this.#settings.restartsMax) {
      this.#notice(child.spec.name, 'gave-up', `${child.restarts} restarts`)
      return
    }
    const waitMs = Math.min(BACKOFF_FIRST_MS * 2 ** child.restarts, BACKOFF_MAX_MS)
    child.restarts++
    setTimeout(() => {
      if (this.#isStopping) return
      this.#notice(child.spec.name, 'restarting', `after ${waitMs} ms`)
      this.#launch(child).catch((error) => this.#notice(child.spec.name, 'died', String(error)))
    }, waitMs).unref()
  }

  #logFile(spec: ProcessSpec): string {
    return join(this.#settings.logDir, `${spec.name}.log`)
  }

  #logTail(spec: ProcessSpec): string {
    return readFileSync(this.#logFile(spec), 'utf8').trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n')
  }
}

async function isReady(opsPort: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${opsPort}/readyz`, { signal: AbortSignal.timeout(1000) })
    await answer.arrayBuffer()
    return answer.ok
  } catch {
    return false
  }
}
