/** The counter's side of the links: frames of ledger calls in, frames of replies out. */

import type { Clock } from '@bigtap/kernel'
import {
  decodeLedgerCalls,
  encodeLedgerReplies,
  KIND,
  type Kind,
  type LedgerReplyInit,
  OUTCOME,
} from '@bigtap/protocol'
import { Batcher, type Link } from '@bigtap/transport'
import type { CallGatherer } from './call-gatherer.ts'

/** What the server works with. */
export interface LedgerServerParts {
  readonly gatherer: CallGatherer
  readonly clock: Clock
  readonly onSeconds: (seconds: number) => void
}

const REPLIES_MAX = 512
const REPLY_BYTES = 128
const FRAME_BYTES_MAX = 262_144

/** Makes the handler of a link's frames; replies of one turn leave in one frame. */
export function createLedgerServer({ gatherer, clock, onSeconds }: LedgerServerParts) {
  const channels = new WeakMap<Link, ReplyChannel>()
  return (link: Link, kind: Kind, body: Uint8Array): void => {
    if (kind !== KIND.reserve) return
    const channel = channels.get(link) ?? new ReplyChannel(link)
    channels.set(link, channel)
    const startedAt = clock.monotonic()
    for (const call of decodeLedgerCalls(body)) {
      const { callId, activityId } = call
      gatherer.add(call, (outcome, reply) => {
        onSeconds((clock.monotonic() - startedAt) / 1000)
        const order = reply?.order
        channel.push({
          callId,
          outcome,
          activityId,
          ...(order === undefined
            ? {}
            : {
                orderId: order.orderId,
                priceCents: order.priceCents,
                payBy: order.payBy,
                state: order.state,
                quantity: order.quantity,
                skuId: order.skuId,
                uid: order.uid,
              }),
        })
      })
    }
  }
}

class ReplyChannel {
  readonly #link: Link
  readonly #batcher: Batcher
  #replies: LedgerReplyInit[] = []

  constructor(link: Link) {
    this.#link = link
    this.#batcher = new Batcher({ itemsMax: REPLIES_MAX, bytesMax: FRAME_BYTES_MAX }, { flush: () => this.#flush() })
  }

  push(reply: LedgerReplyInit): void {
    this.#replies.push(reply)
    this.#batcher.added(REPLY_BYTES)
  }

  #flush(): void {
    const replies = this.#replies
    this.#replies = []
    // A link that cannot take it is stalled or gone: the caller's deadline answers, and its repeat learns the outcome.
    this.#link.send(KIND.reserveReply, replies[0]?.callId ?? OUTCOME.unavailable, encodeLedgerReplies(replies))
  }
}
