/** What grading and the log plug into: ports with defaults that know nothing. */

import type { AbuseVerdict, Tier } from '@bigtap/domain'
import type { AccessCall, AccessOutcome } from '@bigtap/protocol'
import type { Requester } from './requester.ts'

/** Takes one row for each request whose answer is known. Synchronous and bounded; under pressure it drops and counts. */
export interface AccessLog {
  note(who: Requester, call: AccessCall, outcome: AccessOutcome, flags: number, tier: number): void
}

/** The verdicts in force, enforced ones only. */
export interface VerdictBook {
  /** The worst tier that is said of any of these; what is said of an address, a subnet or a device counts 4 at most. */
  tierOf(uid: number, address: string, subnet: string, device: number, now: number): Tier
  /** What is said of a buyer. */
  verdictOf(uid: number, now: number): AbuseVerdict | undefined
}

/** What was known of buyers before the sale. */
export interface Profile {
  tierOf(uid: number): Tier
}

/** A log that nobody reads. */
export const NO_LOG: AccessLog = { note: () => undefined }
/** No verdicts. */
export const NO_VERDICTS: VerdictBook = { tierOf: () => 0, verdictOf: () => undefined }
/** Nobody is known. */
export const NO_PROFILE: Profile = { tierOf: () => 0 }
