/** Processes of a bench: scripts beside it that are asked by message, services that are waited for. */

import { type ChildProcess, fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const READY_MS_MAX = 15_000
const LOOK_EVERY_MS = 100

/** Starts a script of this folder by its name, and notes it in `children`, for whoever ends them. */
export function startScript(script: string, children: ChildProcess[]): ChildProcess {
  const child = fork(fileURLToPath(new URL(`./${script}.js`, import.meta.url)))
  children.push(child)
  return child
}

/** Sends a message, and gives the next one that comes back. Rejects when the process ends first. */
export function askChild(child: ChildProcess, message: object | string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error('a process of the bench ended while it was asked'))
    child.once('exit', onExit)
    child.once('message', (answer) => {
      child.off('exit', onExit)
      resolve(answer)
    })
    child.send(message)
  })
}

/** Waits until the service with this operations port is ready, for 15 s at most. */
export async function untilReady(opsPort: number): Promise<void> {
  const until = performance.now() + READY_MS_MAX
  while (performance.now() < until) {
    const isReady = await fetch(`http://127.0.0.1:${opsPort}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    )
    if (isReady) return
    await sleep(LOOK_EVERY_MS)
  }
  throw new Error(`the service with operations port ${opsPort} is not ready after ${READY_MS_MAX} ms`)
}
