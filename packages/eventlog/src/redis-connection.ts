import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Logger } from '@bigtap/kernel'
import { Redis } from 'ioredis'
import { asLogError, LogError } from './faults.ts'

const CONNECT_MS_MAX = 2_000
const RECONNECT_MS_MAX = 500

/** A connection that fails at once while the server is away, sends nothing twice, and comes back by itself. */
export function connectRedis(url: string, commandMsMax: number, logger: Logger): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandMsMax,
    connectTimeout: CONNECT_MS_MAX,
    retryStrategy: (attempt) => Math.min(20 * attempt, RECONNECT_MS_MAX),
  })
  redis.on('error', (error: Error) => logger.debug({ error: error.message }, 'redis connection of the log failed'))
  return redis
}

/** Resolves when the connection is up, or after the time: what comes next then fails by itself. */
export function untilReady(redis: Redis, msMax: number): Promise<void> {
  if (redis.status === 'ready') return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      redis.off('ready', done)
      resolve()
    }
    const timer = setTimeout(done, msMax)
    redis.once('ready', done)
  })
}

/** A Lua script of ../scripts. The number of its keys ends its name; `n` is any number. */
export interface Script {
  readonly name: string
  readonly text: string
  readonly sha: string
}

/** Reads a script; the same from src and from dist. */
export function readScript(name: string): Script {
  const text = readFileSync(new URL(`../scripts/${name}.lua`, import.meta.url), 'utf8')
  return { name, text, sha: createHash('sha1').update(text).digest('hex') }
}

/** Runs a script, sending its text only to a server that does not know it. Rejects with a `LogError`. */
export async function runScript(
  redis: Redis,
  { name, text, sha }: Script,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
): Promise<unknown> {
  try {
    return await redis.evalsha(sha, keys.length, ...keys, ...args).catch((error: unknown) => {
      if (!String(error).includes('NOSCRIPT')) throw error
      return redis.eval(text, keys.length, ...keys, ...args)
    })
  } catch (error) {
    throw asRedisError(name, error)
  }
}

/** What ioredis throws, as a fault. */
export function asRedisError(what: string, error: unknown): LogError {
  const said = error instanceof Error ? error.message : String(error)
  const code = said.includes('LOG_FULL') ? 'LOG_FULL' : said === 'Command timed out' ? 'LOG_TIMEOUT' : undefined
  if (code === undefined) return asLogError(what, error)
  return new LogError({ code, message: `${what}: ${said}`, cause: error })
}
