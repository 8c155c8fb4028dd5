/** What bench `shed` and its driver tell each other. */

/** What is asked of the driver. `opensAt` is that of the activity, ms since the epoch. */
export interface DriverTask {
  readonly secret: string
  readonly port: number
  readonly activityId: number
  readonly skuId: number
  readonly opensAt: number
  readonly normal: number
  readonly abusive: number
}

/** From now on so many of each ask. */
export interface DriverStage {
  readonly normal: number
  readonly abusive: number
}

/** Answers since the last question. */
export interface DriverCounts {
  readonly asked: number
  readonly merit: number
  readonly shed: number
  readonly lost: number
}

/** Both kinds. */
export interface DriverResult {
  readonly normal: DriverCounts
  readonly abusive: DriverCounts
}

/** A buyer looks once a second; a script fifty times. */
export const NORMAL_BEAT_MS = 1_000
/** A script's beat. */
export const ABUSIVE_BEAT_MS = 20
