/** The event log as the relays and the order service see it: in order, kept, handled at least once. */

import { type BatchHandler, LogError, type LogRecord, type Producer } from '@bigtap/eventlog'
import type { SimProcess } from '../world/process.ts'
import type { RemoteServer } from '../world/remote.ts'
import type { World } from '../world/world.ts'

const SEND_MS = 500
const POLL_MS = 40
const RETRY_MS = 200

/** Topic `orders` of one partition, and the position of its one group; and the release log, which nobody reads before the end. */
export class EventLogHost {
  readonly records: LogRecord[] = []
  readonly grants: LogRecord[] = []
  readonly server: RemoteServer
  /** How many were handled. */
  position = 0
  readonly #world: World

  constructor(server: RemoteServer, world: World) {
    this.server = server
    this.#world = world
  }

  producer(process: SimProcess): Producer {
    const fault = () => new LogError({ code: 'LOG_TIMEOUT', message: 'the log did not answer' })
    return {
      send: (topic, records) => {
        const into = topic === 'grants' ? this.grants : this.records
        return this.server.call(process, () => void into.push(...records), { msMax: SEND_MS, fault })
      },
    }
  }

  /** Brings batches to a handler until its process dies; one that failed comes again. */
  consume(process: SimProcess, handler: BatchHandler): void {
    const again = (ms: number) => this.#world.deliver(process, ms, round)
    const round = (): void => {
      const from = this.position
      const records = this.records.slice(from, from + 100)
      if (records.length === 0 || !this.server.isUp) return void again(POLL_MS)
      const stored = records.map((record, index) => ({ ...record, position: String(from + index) }))
      handler({ topic: 'orders', partition: 0, records: stored }).then(
        () => {
          this.position = Math.max(this.position, from + records.length)
          again(POLL_MS)
        },
        () => again(RETRY_MS),
      )
    }
    again(POLL_MS)
  }
}
