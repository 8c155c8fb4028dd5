import { randomUUID } from 'node:crypto'
import type { Logger } from '@bigtap/kernel'
import type { Redis } from 'ioredis'
import { LogError } from './faults.ts'
import {
  BATCH_RECORDS,
  type BatchHandler,
  type Consumer,
  type ConsumerSettings,
  STOP_MS,
  type StoredRecord,
} from './port.ts'
import { connectRedis, readScript, runScript, untilReady } from './redis-connection.ts'
import { droppedKey, membersKey, ownersKey, positionsKey, type RedisLogLimits, streamKey } from './redis-keys.ts'
import { deliver, RunState, settleWithin } from './run-state.ts'

const CLAIM = readScript('claim-n')
const COMMIT = readScript('commit-4')
const LEAVE = readScript('leave-2')
const LAG = readScript('lag-n')
const DROPPED = readScript('dropped-n')
/** How long a read waits for a record: bounds how late a new partition is read, and how long `stop` takes. */
const BLOCK_MS = 200
/** The same while a partition is still in hand, so that it is read again soon after. */
const BLOCK_BUSY_MS = 20
/** Wait after a failed call, and where there is nothing to read. */
const PAUSE_MS = 100

/** Two connections: one for reads that wait, one for claims and positions, whose replies come in order. */
export class RedisConsumer implements Consumer {
  readonly #id = randomUUID()
  readonly #settings: ConsumerSettings
  readonly #limits: RedisLogLimits
  readonly #logger: Logger
  readonly #run = new RunState()
  /** By partition that we own: our group's position, "id|count". */
  readonly #owned = new Map<number, string>()
  readonly #busy = new Set<number>()
  /** By partition: the batch that was handled, and whose position could not be kept. */
  readonly #unkept = new Map<number, Unkept>()
  readonly #inHand = new Set<Promise<void>>()
  #control: Redis | undefined
  #reader: Redis | undefined
  #loops: Promise<void>[] = []

  constructor(settings: ConsumerSettings, { limits, logger }: { limits: RedisLogLimits; logger: Logger }) {
    this.#settings = settings
    this.#limits = limits
    this.#logger = logger.child({ topic: settings.topic, group: settings.group })
  }

  get state() {
    return this.#run.state
  }

  async run(handler: BatchHandler): Promise<void> {
    this.#run.start()
    const { url, timeoutMs } = this.#limits
    this.#control ??= connectRedis(url, timeoutMs, this.#logger)
    this.#reader = connectRedis(url, timeoutMs + BLOCK_MS, this.#logger)
    this.#loops = [this.#claimLoop(this.#control), this.#readLoop(this.#control, this.#reader, handler)]
  }

  pause(): void {
    this.#run.pause()
  }

  resume(): void {
    this.#run.resume()
  }

  async stop(): Promise<void> {
    if (this.#run.hasStopped) return
    this.#run.stopping()
    await settleWithin(this.#settings.stopMs ?? STOP_MS, this.#loops)
    this.#run.stopped()
    if (this.#control?.status === 'ready')
      await runScript(this.#control, LEAVE, this.#groupKeys(), [this.#id]).catch(() => undefined) // the lease runs out
    this.#reader?.disconnect()
    this.#control?.disconnect()
  }

  async lag(): Promise<number> {
    const { topic, group } = this.#settings
    const keys = this.#partitions().flatMap((partition) => [
      ...[streamKey(topic, partition), positionsKey(topic, partition), droppedKey(topic, partition)],
    ])
    return Number(await runScript(await this.#connected(), LAG, keys, [group]))
  }

  async dropped(): Promise<number> {
    const { topic, group } = this.#settings
    const keys = this.#partitions().map((partition) => droppedKey(topic, partition))
    return Number(await runScript(await this.#connected(), DROPPED, keys, [group]))
  }

  async #connected(): Promise<Redis> {
    if (this.#run.hasStopped) throw new LogError({ code: 'LOG_CLOSED', message: 'the consumer is stopped' })
    this.#control ??= connectRedis(this.#limits.url, this.#limits.timeoutMs, this.#logger)
    await untilReady(this.#control, this.#limits.timeoutMs)
    return this.#control
  }

  async #claimLoop(control: Redis): Promise<void> {
    await untilReady(control, this.#limits.timeoutMs)
    while (this.#run.isLive) {
      const isDone = await this.#claim(control)
      await this.#pauseFor(isDone ? this.#limits.leaseMs / 4 : PAUSE_MS)
    }
  }

  /** Waits through wakes that are meant for others, but not through a stop. */
  async #pauseFor(ms: number): Promise<void> {
    const until = performance.now() + ms
    while (this.#run.isLive && performance.now() < until) await this.#run.wait(until - performance.now())
  }

  async #claim(control: Redis): Promise<boolean> {
    const { topic, group } = this.#settings
    const keys = [...this.#groupKeys(), ...this.#partitions().map((partition) => positionsKey(topic, partition))]
    const inHand = `,${[...this.#busy].join(',')},`
    try {
      const reply = (await runScript(control, CLAIM, keys, [
        this.#id,
        group,
        this.#limits.leaseMs,
        inHand,
      ])) as unknown[]
      this.#owned.clear()
      for (let at = 0; at < reply.length; at += 2) this.#owned.set(Number(reply[at]), String(reply[at + 1]))
      return true
    } catch (error) {
      this.#logger.debug({ error: String(error) }, 'partitions could not be claimed')
      return false
    }
  }

  async #readLoop(control: Redis, reader: Redis, handler: BatchHandler): Promise<void> {
    while (this.#run.isLive) {
      const free = [...this.#owned].filter(([partition]) => !this.#busy.has(partition))
      const isIdle = this.#run.state === 'paused' || free.length === 0
      const batches = isIdle ? undefined : await this.#read(reader, free)
      if (batches === undefined) await this.#run.wait(PAUSE_MS)
      else await this.#handleAll(batches, control, handler)
    }
    await Promise.allSettled(this.#inHand)
  }

  /** What stands after our positions; undefined when it could not be read. */
  async #read(reader: Redis, positions: [number, string][]): Promise<Read[] | undefined> {
    const streams = positions.map(([partition]) => streamKey(this.#settings.topic, partition))
    const ids = positions.map(([, position]) => position.split('|')[0] ?? '0-0')
    const count = this.#settings.recordsMax ?? BATCH_RECORDS
    const blockMs = this.#busy.size > 0 ? BLOCK_BUSY_MS : BLOCK_MS
    try {
      const reply = await reader.xreadBuffer('COUNT', count, 'BLOCK', blockMs, 'STREAMS', ...streams, ...ids)
      return parseReads((reply ?? []) as [Buffer, [Buffer, Buffer[]][]][], new Map(positions))
    } catch (error) {
      this.#logger.debug({ error: String(error) }, 'the log could not be read')
      return undefined
    }
  }

  /** Waits for what is handled fast; a partition whose handler is slow or fails does not keep the others waiting. */
  async #handleAll(batches: readonly Read[], control: Redis, handler: BatchHandler): Promise<void> {
    if (this.#run.state !== 'running') return // paused or stopped while the read waited
    const handles = batches.map((batch) => this.#handle(control, handler, batch))
    for (const handle of handles) {
      this.#inHand.add(handle)
      void handle.finally(() => this.#inHand.delete(handle))
    }
    if (handles.length > 0) await settleWithin(PAUSE_MS, handles)
  }

  async #handle(control: Redis, handler: BatchHandler, { partition, position, records }: Read): Promise<void> {
    const { topic, group } = this.#settings
    const isOurs = () => this.#owned.get(partition) === position
    this.#busy.add(partition)
    const fresh = withoutHandled(records, position, this.#unkept.get(partition))
    let isHandled = false
    try {
      const delivery = { run: this.#run, handler, logger: this.#logger, isOurs }
      isHandled = fresh.length === 0 || (await deliver({ topic, partition, records: fresh }, delivery))
      if (!isHandled || this.#run.hasStopped) return
      const next = `${records.at(-1)?.position}|${Number(position.split('|')[1]) + records.length}`
      const names = [positionsKey, streamKey, droppedKey].map((nameOf) => nameOf(topic, partition))
      const keys = [ownersKey(topic, group), ...names]
      const args = [this.#id, group, partition, position, next, this.#limits.recordsKept]
      const isKept = Number(await runScript(control, COMMIT, keys, args)) === 1
      if (isKept) this.#owned.set(partition, next)
      else this.#owned.delete(partition)
      this.#unkept.delete(partition)
    } catch (error) {
      this.#logger.warn({ partition, error: String(error) }, 'a position could not be kept')
      this.#owned.delete(partition) // the next claim says where we are
      if (isHandled) this.#unkept.set(partition, { position, count: records.length, last: records.at(-1)?.position })
    } finally {
      this.#busy.delete(partition)
      this.#run.wake()
    }
  }

  #groupKeys(): string[] {
    const { topic, group } = this.#settings
    return [membersKey(topic, group), ownersKey(topic, group)]
  }

  #partitions(): number[] {
    return Array.from({ length: this.#limits.partitions }, (_, partition) => partition)
  }
}

interface Unkept {
  /** Of the group, before the batch. */
  readonly position: string
  readonly count: number
  readonly last: string | undefined
}

/** What we have handled already, when exactly that comes again: nobody else was told it meanwhile. */
function withoutHandled(records: StoredRecord[], position: string, unkept: Unkept | undefined): StoredRecord[] {
  const isAgain = unkept?.position === position && records[unkept.count - 1]?.position === unkept.last
  return isAgain ? records.slice(unkept.count) : records
}

interface Read {
  readonly partition: number
  /** The group's position before these records. */
  readonly position: string
  readonly records: StoredRecord[]
}

function parseReads(reply: [Buffer, [Buffer, Buffer[]][]][], positions: ReadonlyMap<number, string>): Read[] {
  return reply.map(([stream, entries]) => {
    const name = stream.toString()
    const partition = Number(name.slice(name.lastIndexOf(':') + 1))
    const records = entries.map(([id, fields]) => ({
      key: (fields[1] ?? '').toString(),
      value: fields[3] ?? Buffer.alloc(0),
      position: id.toString(),
    }))
    return { partition, position: positions.get(partition) ?? '0-0|0', records }
  })
}
