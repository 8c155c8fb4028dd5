import type { Logger } from '@bigtap/kernel'

/** What a worker does, and how often. */
export interface WorkerSettings {
  readonly name: string
  readonly everyMs: number
  readonly work: () => Promise<unknown>
}

/** A part that works again and again, one round at a time; a round that fails is logged and comes again. */
export function createWorker({ name, everyMs, work }: WorkerSettings, logger: Logger) {
  let timer: NodeJS.Timeout | undefined
  let isRunning = false
  const round = async () => {
    if (isRunning) return
    isRunning = true
    await work().catch((error: unknown) => logger.warn({ error, worker: name }, 'a round failed and comes again'))
    isRunning = false
  }
  return {
    name,
    start: () => {
      timer = setInterval(() => void round(), everyMs)
    },
    stop: () => clearInterval(timer),
  }
}
