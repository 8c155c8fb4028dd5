/** What the crowd's process and its parent say to each other over IPC. */

import type { AnswerClass } from './answer-class.ts'
import type { CrowdSettings } from './buyer-plan.ts'
import type { ProfileFigures } from './profile-figures.ts'
import type { Profile } from './profiles.ts'
import type { Complaint, PromisedOrder } from './stats.ts'

/** From the parent. */
export type CrowdOrder =
  | { type: 'sign-in'; origin: string; limiters: string[]; settings: CrowdSettings }
  | { type: 'sale'; activityId: number; skuIds: number[]; opensAt: number; endsAt: number }

/** From the crowd. */
export type CrowdReport =
  | { type: 'signed-in'; sessions: number }
  | ({ type: 'progress' } & CrowdProgress)
  | { type: 'result'; result: CrowdResult }

/** How far the sale is, as the buyers see it. */
export interface CrowdProgress {
  readonly asks: number
  readonly answers: Record<AnswerClass, number>
  readonly finished: number
  readonly buyers: number
  readonly orders: number
  readonly paid: number
}

/** What the crowd saw in the whole sale. Ratios are 0..1; `asksPerSecond` is the mean over the time of the asks. */
export interface CrowdResult {
  readonly asks: number
  readonly asksPerSecond: number
  readonly answers: Record<AnswerClass, number>
  readonly latencyMs: { p50: number; p95: number; p99: number; max: number }
  readonly orders: readonly PromisedOrder[]
  readonly paid: number
  readonly cancelled: number
  readonly tokensLeft: number
  readonly gaveUp: number
  readonly bots: number
  readonly normalServedRatio: number
  /** Granted abusive asks of all abusive ones, and the same for each abusive profile that came. */
  readonly abusiveAdmittedRatio: number
  readonly abusiveAdmittedByProfile: Readonly<Partial<Record<Profile, number>>>
  readonly wronglyBlocked: number
  readonly profiles: Readonly<Partial<Record<Profile, ProfileFigures>>>
  readonly slowSenders: { readonly held: number; readonly cutOff: number; readonly skipped: number }
  readonly complaints: readonly Complaint[]
  readonly complaintCount: number
}
