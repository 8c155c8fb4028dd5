/** Carries what was granted to the release log, in order and at least once: an entry goes from Redis when the log has it. */

import type { Producer } from '@bigtap/eventlog'
import { encodeGrantEvent } from '@bigtap/protocol'
import type { GrantOutbox } from '@bigtap/store'

/** What the relay works with. */
export interface GrantRelayParts {
  readonly outbox: Pick<GrantOutbox, 'read' | 'drop'>
  readonly producer: Producer
}

const TOPIC = 'grants'
/** An entry holds the grants of one event-loop turn of a node: at most some hundred. */
const ENTRIES_MAX = 100
const SEND_MAX = 5_000

/** Carries the entries of an activity; counts what was carried. */
export class GrantRelay {
  readonly #parts: GrantRelayParts
  #carried = 0

  constructor(parts: GrantRelayParts) {
    this.#parts = parts
  }

  /** Grants that the log has taken since the start. */
  get carried(): number {
    return this.#carried
  }

  /** The work of one activity: true when there may be more. Rejects when Redis or the log is away; then it comes again. */
  async round(activityId: number): Promise<boolean> {
    const { outbox, producer } = this.#parts
    const entries = await outbox.read(activityId, ENTRIES_MAX)
    const last = entries.at(-1)
    if (last === undefined) return false
    const records = entries
      .flatMap(({ grants }) => grants)
      .map((grant) => ({ key: `${grant.uid}`, value: encodeGrantEvent({ activityId, ...grant }) }))
    for (let at = 0; at < records.length; at += SEND_MAX) await producer.send(TOPIC, records.slice(at, at + SEND_MAX))
    await outbox.drop(activityId, last.id)
    this.#carried += records.length
    return entries.length === ENTRIES_MAX
  }
}
