import type { BoundedTopics } from './bounded.ts'

/** Where Redis is, and the limits. All processes of a platform must agree on `partitions`. */
export interface RedisLogSettings {
  readonly url: string
  readonly partitions?: number
  /** Most time of a call, ms. */
  readonly timeoutMs?: number
  /** A consumer that is silent for so long loses its partitions, ms. */
  readonly leaseMs?: number
  /** Most records of a partition; a send beyond that rejects with LOG_FULL. Only what all groups have handled is dropped. */
  readonly recordsMax?: number
  /** Records that stay when all groups have handled them. */
  readonly recordsKept?: number
  readonly bounded?: BoundedTopics
}

/** The settings with their defaults. */
export type RedisLogLimits = Required<RedisLogSettings>

/** Name of a partition's stream. All names of a topic lie in one slot of a cluster, so that scripts may use several. */
export const streamKey = (topic: string, partition: number) => `bt:log:{${topic}}:${partition}`
/** Name of a partition's positions: a hash, group -> "id|count handled". */
export const positionsKey = (topic: string, partition: number) => `${streamKey(topic, partition)}:positions`
/** What fell of a partition before it was handled: a hash, group -> count. */
export const droppedKey = (topic: string, partition: number) => `${streamKey(topic, partition)}:dropped`
/** Name of a group's members: a sorted set, consumer -> end of its lease. */
export const membersKey = (topic: string, group: string) => `bt:log:{${topic}}:${group}:members`
/** Name of a group's owners: a hash, partition -> consumer. */
export const ownersKey = (topic: string, group: string) => `bt:log:{${topic}}:${group}:owners`
