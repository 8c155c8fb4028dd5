/** One connection to Redis: no offline queue, no resending, a timeout on every command, and the server's run id. */

import { CodedError, type Logger } from '@bigtap/kernel'
import { Redis } from 'ioredis'

/** How to connect. `commandMsMax` bounds every command. */
export interface StoreSettings {
  readonly url: string
  readonly commandMsMax: number
}

/** A connection that reconnects by itself. Commands fail at once while it is away. */
export interface Store {
  readonly redis: Redis
  /** The server's run id: changes with every start of the server. Undefined while there is no connection. */
  readonly runId: string | undefined
  ready(): boolean
  /** Resolves when connected; rejects after `msMax`. */
  waitUntilReady(msMax: number): Promise<void>
  close(): Promise<void>
}

/** After a cut that lasted, a connection stands again within a second: a dial of 500 ms, and 200 ms between two of them. */
const RECONNECT_MS_MAX = 200
const CONNECT_MS_MAX = 500
/** A server that answers nothing for this long may be cut off: its old connection would come back late, or never. */
const SILENT_MS_MAX = 1_000
const READY_POLL_MS = 20

/** Starts to connect. */
export function connectStore({ url, commandMsMax }: StoreSettings, { logger }: { logger: Logger }): Store {
  const redis = new Redis(url, {
    lazyConnect: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableReadyCheck: true,
    commandTimeout: commandMsMax,
    connectTimeout: CONNECT_MS_MAX,
    socketTimeout: Math.max(commandMsMax, SILENT_MS_MAX),
    retryStrategy: (attempt) => Math.min(20 * attempt, RECONNECT_MS_MAX),
  })
  let runId: string | undefined
  redis.on('error', (error: Error) => logger.debug({ error: error.message }, 'redis connection failed'))
  redis.on('close', () => {
    if (runId !== undefined) logger.warn({}, 'redis is lost')
    runId = undefined
  })
  redis.on('ready', () => {
    redis.info('server').then(
      (info) => {
        runId = /run_id:(\w+)/.exec(info)?.[1]
        logger.info({ runId }, 'redis is connected')
      },
      () => redis.disconnect(true), // the timeout of this one command: try again from the start
    )
  })
  return {
    redis,
    get runId() {
      return runId
    },
    ready: () => runId !== undefined,
    waitUntilReady: async (msMax) => {
      const deadline = performance.now() + msMax
      while (runId === undefined) {
        if (performance.now() > deadline)
          throw new CodedError({ code: 'STORE_UNAVAILABLE', message: `redis did not answer in ${msMax} ms` })
        await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS))
      }
    },
    close: async () => {
      redis.disconnect()
    },
  }
}
