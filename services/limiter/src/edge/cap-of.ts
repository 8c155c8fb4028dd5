/** What each address may hold: generous, because thousands share one; less for addresses of which bad is said. */

import { subnetOf } from '@bigtap/domain'
import type { Clock } from '@bigtap/kernel'
import type { VerdictBook } from '../core/ports.ts'
import type { AddressCap } from './address-caps.ts'
import { NO_CAP } from './edge.ts'

/** Connections of one address: a large company, or a provider's subscribers, behind one. */
export const CONNECTIONS_MAX = 4_096
/** From this tier on an address counts as bad. */
const BAD_TIER = 3
/** A bad address has so much less; and of all that it has, one in so many may be sent only in part. */
const BAD_SHARE = 16
const SENDERS_SHARE = 8

/** Makes the function that an edge asks. A trusted proxy stands for many and has no cap. */
export function createCapOf(
  { connectionsMax }: { connectionsMax: number },
  parts: { clock: Clock; verdicts: VerdictBook; isTrusted(address: string): boolean },
): (address: string) => AddressCap {
  const good = capFor(connectionsMax)
  const bad = capFor(connectionsMax / BAD_SHARE)
  return (address) => {
    if (parts.isTrusted(address)) return NO_CAP
    const tier = parts.verdicts.tierOf(0, address, subnetOf(address), 0, parts.clock.now())
    return tier >= BAD_TIER ? bad : good
  }
}

function capFor(connections: number): AddressCap {
  const connectionsMax = Math.max(1, Math.floor(connections))
  return { connectionsMax, sendersMax: Math.max(1, Math.floor(connectionsMax / SENDERS_SHARE)) }
}
