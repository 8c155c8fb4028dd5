import type { Clock, Logger } from '@bigtap/kernel'
import type { MiddleNode } from './middle-node.ts'

/** Collaborators of a node that leaves. */
export interface LeavingParts {
  readonly clock: Clock
  readonly logger: Logger
  /** Says the node's state in its heartbeat now. */
  beat(): Promise<void>
}

/** Longest wait for the slots to be taken over, and for the first sign that somebody takes them. */
export const LEAVE_MS = { max: 3_000, untilFirst: 1_000 } as const
const LOOK_EVERY_MS = 20

/**
 * A planned leave: says `leaving`, then serves on until the slot table gives the node nothing. When nobody takes its slots
 * (it is the last one, or master is away) it goes all the same: its slots move by its silence then.
 */
export async function leave(node: MiddleNode, { clock, logger, beat }: LeavingParts): Promise<void> {
  const had = node.slotCount
  const startedAt = clock.monotonic()
  const waited = () => clock.monotonic() - startedAt
  node.leave()
  await beat()
  const isOver = () => waited() >= (node.slotCount === had ? LEAVE_MS.untilFirst : LEAVE_MS.max)
  while (node.slotCount > 0 && !isOver()) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  logger.info({ slots: had, left: node.slotCount, ms: Math.round(waited()) }, 'slots given away')
}
