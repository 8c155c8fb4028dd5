/** The log in this process: for tests, and for a platform that runs as one process. Gone when the process is. */

import { type Logger, nullLogger } from '@bigtap/kernel'
import { type BoundedTopics, boundOf } from './bounded.ts'
import { checkRecords, LogError } from './faults.ts'
import { byPartition } from './partition.ts'
import {
  BATCH_RECORDS,
  type BatchHandler,
  type Consumer,
  type ConsumerSettings,
  type EventLog,
  type LogRecord,
  STOP_MS,
} from './port.ts'
import { deliver, RunState, settleWithin } from './run-state.ts'

/** How large it may grow. */
export interface MemoryLogSettings {
  readonly partitions?: number
  /** Most records of a partition; a send beyond that rejects with LOG_FULL. */
  readonly recordsMax?: number
  readonly bounded?: BoundedTopics
}

interface Group {
  /** By partition: how many records were handled. */
  readonly positions: number[]
  /** Records that fell before they were handled. */
  dropped: number
  readonly busy: Set<number>
  readonly members: MemoryConsumer[]
}

interface Partition {
  /** How many fell; the first that is there has this position. */
  base: number
  records: LogRecord[]
}

interface Topic {
  readonly partitions: Partition[]
  readonly groups: Map<string, Group>
}

/** Opens an empty log. */
export function createMemoryLog(
  { partitions = 4, recordsMax = 1_000_000, bounded = {} }: MemoryLogSettings = {},
  { logger = nullLogger }: { logger?: Logger } = {},
): EventLog {
  const topics = new Map<string, Topic>()
  const consumers: MemoryConsumer[] = []
  const topicOf = (name: string) => {
    const known = topics.get(name) ?? {
      partitions: Array.from({ length: partitions }, () => ({ base: 0, records: [] })),
      groups: new Map(),
    }
    topics.set(name, known)
    return known
  }
  const send = async (name: string, records: readonly LogRecord[]) => {
    checkRecords(records)
    const topic = topicOf(name)
    const bound = boundOf(bounded, name)
    for (const [at, group] of byPartition(records, partitions)) {
      const partition = topic.partitions[at] as Partition
      const stored = partition.records
      if (bound === undefined && stored.length + group.length > recordsMax)
        throw new LogError({ code: 'LOG_FULL', message: `partition ${at} of ${name} holds ${recordsMax} records` })
      for (const { key, value } of group) stored.push({ key, value: Uint8Array.from(value) })
      if (bound !== undefined) trim(topic, at, bound)
    }
    for (const { members } of topic.groups.values()) for (const member of members) member.wake()
  }
  return {
    producer: () => ({ send }),
    consumer: (settings) => {
      const consumer = new MemoryConsumer(settings, topicOf(settings.topic), logger)
      consumers.push(consumer)
      return consumer
    },
    close: async () => {
      await Promise.all(consumers.map((consumer) => consumer.stop()))
    },
  }
}

/** Lets the oldest records fall, and counts them for the groups that have not handled them. */
function trim({ partitions, groups }: Topic, at: number, bound: number): void {
  const partition = partitions[at] as Partition
  const over = partition.records.length - bound
  if (over <= 0) return
  partition.records = partition.records.slice(over)
  partition.base += over
  for (const group of groups.values()) {
    const missed = partition.base - (group.positions[at] ?? 0)
    if (missed <= 0) continue
    group.dropped += missed
    group.positions[at] = partition.base
  }
}

const IDLE_MS = 1_000

class MemoryConsumer implements Consumer {
  readonly #settings: ConsumerSettings
  readonly #topic: Topic
  readonly #group: Group
  readonly #logger: Logger
  readonly #run = new RunState()
  #loop: Promise<void> = Promise.resolve()

  constructor(settings: ConsumerSettings, topic: Topic, logger: Logger) {
    const positions = topic.partitions.map(({ base }) => base)
    this.#settings = settings
    this.#topic = topic
    this.#group = topic.groups.get(settings.group) ?? {
      ...{ positions, dropped: 0, busy: new Set(), members: [] },
    }
    this.#logger = logger
    topic.groups.set(settings.group, this.#group)
  }

  get state() {
    return this.#run.state
  }

  async run(handler: BatchHandler): Promise<void> {
    this.#run.start()
    this.#group.members.push(this)
    this.#loop = this.#read(handler)
  }

  pause(): void {
    this.#run.pause()
  }

  resume(): void {
    this.#run.resume()
  }

  wake(): void {
    this.#run.wake()
  }

  async stop(): Promise<void> {
    if (this.#run.hasStopped) return
    this.#run.stopping()
    await settleWithin(this.#settings.stopMs ?? STOP_MS, [this.#loop])
    const { members, busy } = this.#group
    const at = members.indexOf(this)
    if (at >= 0) members.splice(at, 1)
    if (members.length === 0) busy.clear() // what a stuck handler held is free for the next member
    this.#run.stopped()
    for (const member of members) member.wake()
  }

  async lag(): Promise<number> {
    const { positions } = this.#group
    return this.#topic.partitions.reduce((sum, one, at) => sum + endOf(one) - (positions[at] ?? 0), 0)
  }

  async dropped(): Promise<number> {
    return this.#group.dropped
  }

  async #read(handler: BatchHandler): Promise<void> {
    const inHand = new Set<Promise<void>>()
    while (this.#run.isLive) {
      const ready = this.#run.state === 'running' ? this.#ready() : []
      for (const partition of ready) {
        const handle = this.#handle(partition, handler).finally(() => inHand.delete(handle))
        inHand.add(handle)
      }
      if (ready.length === 0) await this.#run.wait(IDLE_MS)
    }
    await Promise.allSettled(inHand)
  }

  /** Our share of the partitions, those of them that have something to read and are in nobody's hand. */
  #ready(): number[] {
    const { members, busy, positions } = this.#group
    const own = (partition: number) => members[partition % members.length] === this
    return [...this.#topic.partitions.keys()].filter(
      (partition) =>
        own(partition) &&
        !busy.has(partition) &&
        (positions[partition] ?? 0) < endOf(this.#topic.partitions[partition]),
    )
  }

  async #handle(partition: number, handler: BatchHandler): Promise<void> {
    const { busy, members } = this.#group
    const start = this.#group.positions[partition] ?? 0
    const { base, records: stored } = this.#topic.partitions[partition] as Partition
    const records = stored
      .slice(start - base, start - base + (this.#settings.recordsMax ?? BATCH_RECORDS))
      .map((record, at) => ({ ...record, position: `${start + at}` }))
    busy.add(partition)
    const isOurs = () => members.includes(this)
    const batch = { topic: this.#settings.topic, partition, records }
    const isHandled = await deliver(batch, { run: this.#run, handler, logger: this.#logger, isOurs })
    if (isHandled) keepPosition(this.#group, partition, start, start + records.length)
    if (isOurs()) busy.delete(partition)
    for (const member of members) member.wake()
  }
}

function endOf(partition: Partition | undefined): number {
  return partition === undefined ? 0 : partition.base + partition.records.length
}

/** What fell while it was in hand was counted as dropped, and is handled after all. */
function keepPosition(group: Group, partition: number, from: number, until: number): void {
  const now = group.positions[partition] ?? 0
  group.dropped -= Math.min(now, until) - from
  group.positions[partition] = Math.max(now, until)
}
