/** PressureKeeper: the pace follows what cart, counter and order can take, down at once and up slowly. Pure. */

import { NO_PRESSURE, PRESSURE_FACTOR_MIN, type PressureDoc } from '@bigtap/domain'

/** How long work waits at a node and how long it may; `ageMs` is how long ago it said so. */
export interface Pressure {
  readonly node: string
  readonly role: string
  readonly waitMs: number
  readonly targetMs: number
  readonly ageMs: number
}

/** The factor in force, when it last fell, and since when it may rise. Times in ms since the epoch. */
export interface PressureState {
  readonly factor: number
  readonly reason: string
  /** When the factor last fell, and how far above its target the worst report then was. */
  readonly fellAt: number
  readonly fellBy: number
  /** The last moment of pressure, or of the last step up. */
  readonly calmFrom: number
}

/** The next state, and the document to publish where the factor has changed. */
export interface PressureStep {
  readonly state: PressureState
  readonly publish: PressureDoc | undefined
}

/** An older report does not count: its node is dead, or has nothing to complain about any more. */
export const REPORT_MS_MAX = 1_000
/**
 * Until the nodes know a new factor and the calls that were granted before have come through; a second step before would
 * punish for the same wait twice. What became much worse meanwhile does not wait.
 */
export const DOWN_EVERY_MS = 300
const MUCH_WORSE = 2
/** One step down is at least this and at most that. */
const DOWN = { least: 0.95, most: 0.5 } as const
/** One step up, after this long without pressure: 10 s from the floor to the full pace. */
export const UP = { by: 0.05, everyMs: 500 } as const

/** Begins with what is published, so that a new leader neither forgets the pressure nor invents any. */
export function startPressure(doc: PressureDoc = NO_PRESSURE, now = 0): PressureState {
  return { factor: doc.factor, reason: doc.reason, fellAt: doc.at, fellBy: 1, calmFrom: now }
}

/**
 * Additive increase, multiplicative decrease (Chiu and Jain, 1989):
 *
 * ```
 *   worst = max(wait / target) over reports of the last second
 *   worst > 1   factor x (1 / worst, between 0.5 and 0.95), at most once in 300 ms, or at once when twice as bad; floor 0.05
 *   else        factor + 0.05 for each 500 ms of calm; ceiling 1
 * ```
 */
export function stepPressure(state: PressureState, now: number, reports: readonly Pressure[]): PressureStep {
  const worst = worstOf(reports)
  if (worst !== undefined) return fall(state, now, worst)
  return rise(state, now)
}

function fall(before: PressureState, now: number, worst: Pressure): PressureStep {
  const state = { ...before, calmFrom: now }
  const by = excessOf(worst)
  const isDue = now - before.fellAt >= DOWN_EVERY_MS || now < before.fellAt || by >= before.fellBy * MUCH_WORSE
  if (!isDue) return { state, publish: undefined }
  const factor = Math.max(PRESSURE_FACTOR_MIN, before.factor * Math.min(DOWN.least, Math.max(DOWN.most, 1 / by)))
  const waits = `${worst.role} ${worst.node} waits ${Math.round(worst.waitMs)} ms, target ${worst.targetMs} ms`
  return stepTo({ ...state, factor, reason: waits.slice(0, 200), fellAt: now, fellBy: by }, before, now)
}

/** Calm that nobody looked at counts too, but only for one step: who was away does not know that it was calm. */
function rise(before: PressureState, now: number): PressureStep {
  if (before.factor >= 1 || now - before.calmFrom < UP.everyMs) {
    // A clock that was set back must not hold the pace down until it has caught up.
    const state = now < before.calmFrom ? { ...before, calmFrom: now } : before
    return { state, publish: undefined }
  }
  const factor = Math.min(1, Math.round((before.factor + UP.by) * 1_000) / 1_000)
  const reason = factor === 1 ? '' : before.reason
  return stepTo({ ...before, factor, reason, fellBy: 1, calmFrom: now }, before, now)
}

function stepTo(state: PressureState, before: PressureState, now: number): PressureStep {
  const { factor, reason } = state
  return { state, publish: factor === before.factor ? undefined : { factor, reason, at: Math.max(0, Math.floor(now)) } }
}

function worstOf(reports: readonly Pressure[]): Pressure | undefined {
  let worst: Pressure | undefined
  for (const report of reports) {
    const counts = report.ageMs <= REPORT_MS_MAX && report.waitMs > report.targetMs
    if (counts && (worst === undefined || excessOf(report) > excessOf(worst))) worst = report
  }
  return worst
}

function excessOf({ waitMs, targetMs }: Pressure): number {
  return waitMs / Math.max(1, targetMs)
}
