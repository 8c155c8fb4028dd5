/** Requests whose answer comes later: who asked is remembered until then, so that the log says what became of them. */

import type { AccessCall } from '@bigtap/protocol'
import type { Waiting } from './core/ask-table.ts'
import type { AccessLog } from './core/ports.ts'
import type { Reply } from './core/reply.ts'
import { flagsOf, outcomeOf, Requester } from './core/requester.ts'
import type { Held } from './edge/edge.ts'

/** Collaborators. */
export interface HeldRequestsParts {
  readonly log: AccessLog
  count(reply: Reply): void
}

/** A pool of them: 0 bytes per request once as many were held. At most as many are alive as the ask table has places. */
export class HeldRequests {
  readonly #parts: HeldRequestsParts
  readonly #pool: HeldRequest[] = []

  constructor(parts: HeldRequestsParts) {
    this.#parts = parts
  }

  /** Holds a request: its reply is counted and logged when it is given. */
  hold(held: Held, who: Requester, call: AccessCall): Waiting {
    return (this.#pool.pop() ?? new HeldRequest(this.#parts, this.#pool)).begin(held, who, call)
  }
}

class HeldRequest implements Waiting {
  readonly #parts: HeldRequestsParts
  readonly #pool: HeldRequest[]
  readonly #who = new Requester()
  #call: AccessCall = 1
  #held: Held | undefined

  constructor(parts: HeldRequestsParts, pool: HeldRequest[]) {
    this.#parts = parts
    this.#pool = pool
  }

  begin(held: Held, who: Requester, call: AccessCall): this {
    this.#held = held
    this.#who.copy(who)
    this.#call = call
    return this
  }

  reply(reply: Reply): void {
    const held = this.#held
    if (held === undefined) return
    this.#held = undefined
    const { log, count } = this.#parts
    count(reply)
    log.note(this.#who, this.#call, outcomeOf(reply), flagsOf(this.#who, reply), this.#who.tier)
    held.reply(reply)
    this.#pool.push(this)
  }
}
