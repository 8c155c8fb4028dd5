import type { Logger } from '@bigtap/kernel'

/** What a worker does, and how often. `startsAtOnce`: the first round does not wait for its time. */
export interface WorkerSettings {
  readonly name: string
  readonly everyMs: number
  readonly work: () => Promise<unknown> | unknown
  readonly startsAtOnce?: boolean
}

/** A loop with a life; a service's part. */
export interface Worker {
  readonly name: string
  start(): void
  /** No further round; resolves when the one under way is over. */
  stop(): Promise<void>
}

/** Does something again and again, one round at a time. One that fails is said once, and comes again. */
export function createWorker(settings: WorkerSettings, logger: Logger): Worker {
  const { name, everyMs, work, startsAtOnce = false } = settings
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let isFailing = false
  const round = async () => {
    try {
      await work()
      if (isFailing) logger.info({ worker: name }, 'a worker works again')
      isFailing = false
    } catch (error) {
      logger[isFailing ? 'debug' : 'warn']({ error, worker: name }, 'a round failed and comes again')
      isFailing = true
    }
  }
  const begin = () => {
    running ??= round().finally(() => {
      running = undefined
    })
  }
  return {
    name,
    start: () => {
      timer ??= setInterval(begin, everyMs)
      if (startsAtOnce) begin()
    },
    stop: async () => {
      clearInterval(timer)
      await running
    },
  }
}
