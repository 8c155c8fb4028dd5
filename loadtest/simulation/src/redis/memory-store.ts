/** A Store over a model of Redis: what the product's classes are given instead of a connection. */

import type { Store } from '@bigtap/store'
import type { RedisModel } from './redis-model.ts'

/** Carries one command to a server and its answer back; rejects as the client library would. */
export type Carry = (command: string, args: readonly string[]) => Promise<unknown>

/** The methods of the client that packages/store uses. */
const COMMANDS =
  'get mget set del hget hset hdel hmget hgetall hlen hscan sadd scard sismember smembers sscan lrange zcard zrange zmscore zrangebyscore xlen xtrim xrange evalsha eval'.split(
    ' ',
  )

/** Makes the client half of a connection; every command goes through `carry`. */
export function createClient(carry: Carry): Store['redis'] {
  const client: Record<string, (...args: unknown[]) => Promise<unknown>> = {}
  for (const command of COMMANDS) client[command] = (...args) => carry(command, args.map(String))
  return client as unknown as Store['redis']
}

/** A store whose server is in this process and always there. */
export function createMemoryStore(server: RedisModel): Store {
  return {
    redis: createClient(async (command, args) => server.command(command, args)),
    get runId() {
      return server.runId
    },
    ready: () => true,
    waitUntilReady: async () => undefined,
    close: async () => undefined,
  }
}
