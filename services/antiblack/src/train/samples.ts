/** Samples for training: a buyer at one time, as the engine's own counts see it. */

import type { AbuseModelDoc } from '@bigtap/domain'
import { NO_PLACE } from '@bigtap/kernel'
import { makeCrowd } from '../core/crowd.ts'
import { DEFAULT_ABUSE_LIMITS } from '../core/engine.ts'
import { placesOf, readFeatures, TERMS } from '../core/features.ts'
import { WINDOW } from '../core/figure-windows.ts'
import { ASKS_MIN } from '../core/judge.ts'
import { Observer } from '../core/observer.ts'
import { COUNT } from '../core/row-facts.ts'
import { Scorer } from '../core/scorer.ts'
import type { LabelledLog } from './labelled-log.ts'

/** Samples as columns. */
export interface Samples {
  /** TERMS places of the weight vector for each. */
  readonly places: Uint16Array
  /** 1 for abuse. */
  readonly isAbusive: Uint8Array
  readonly uids: Float64Array
  readonly count: number
}

/** A buyer is looked at so often while it asks, ms of the log. */
const SLICE_MS = 1_000
/** As often as the service ticks. */
const TICK_MS = 250
/** From this score on a buyer counts as one who misbehaves, as in the engine. */
const BAD_SCORE = 0.8
const SAMPLES_MAX = 4_000_000

/** Replays a log and takes a sample of each labelled buyer about once a second. `model` tells who misbehaves, as it would in the engine. */
export function takeSamples(log: LabelledLog, model: AbuseModelDoc | undefined): Samples {
  const crowd = makeCrowd(DEFAULT_ABUSE_LIMITS)
  const observer = new Observer(crowd, DEFAULT_ABUSE_LIMITS.seed)
  const scorer = new Scorer(model ?? NO_MODEL)
  const places = new Uint16Array(TERMS)
  const taken: { places: Uint16Array; isAbusive: boolean; uid: number }[] = []
  const sampledAt = new Map<number, number>()
  const look = (now: number) => {
    for (let place = crowd.uid.nextTouched(); place !== NO_PLACE; place = crowd.uid.nextTouched()) {
      const uid = crowd.uid.table.keys[place] as number
      const label = log.labels.get(uid)
      if (crowd.uid.windows.count(place, COUNT.asks, WINDOW.minute, now) < ASKS_MIN) continue
      readFeatures(crowd, place, now, scorer.values)
      if (model !== undefined && scorer.score() >= BAD_SCORE) observer.markBad(place, now)
      const isDue = now - (sampledAt.get(uid) ?? 0) >= SLICE_MS
      if (label === undefined || !isDue || taken.length >= SAMPLES_MAX) continue
      sampledAt.set(uid, now)
      placesOf(scorer.values, places)
      taken.push({ places: places.slice(), isAbusive: label.isAbusive, uid })
    }
  }
  replay(log, observer, look)
  return columnsOf(taken)
}

/** Samples of several logs. */
export function joinSamples(parts: readonly Samples[]): Samples {
  const count = parts.reduce((sum, part) => sum + part.count, 0)
  const joined = {
    places: new Uint16Array(count * TERMS),
    isAbusive: new Uint8Array(count),
    uids: new Float64Array(count),
    count,
  }
  let at = 0
  for (const part of parts) {
    joined.places.set(part.places, at * TERMS)
    joined.isAbusive.set(part.isAbusive, at)
    joined.uids.set(part.uids, at)
    at += part.count
  }
  return joined
}

/** Runs a log through something that observes, and looks every 250 ms of the log's time. */
export function replay(log: LabelledLog, observer: Pick<Observer, 'observe'>, look: (now: number) => void): void {
  let now = 0
  for (const batch of log.batches()) {
    if (now === 0) now = batch.at
    for (; now + TICK_MS < batch.at; now += TICK_MS) look(now)
    observer.observe(batch, now)
  }
  look(now + TICK_MS)
}

const NO_MODEL: AbuseModelDoc = {
  version: 1,
  featureSchema: 1,
  bias: 0,
  places: [],
  weights: [],
  calibration: { a: 1, b: 0 },
  steps: [],
  trainedOn: '',
}

function columnsOf(taken: readonly { places: Uint16Array; isAbusive: boolean; uid: number }[]): Samples {
  const places = new Uint16Array(taken.length * TERMS)
  for (const [index, sample] of taken.entries()) places.set(sample.places, index * TERMS)
  const isAbusive = Uint8Array.from(taken, (sample) => (sample.isAbusive ? 1 : 0))
  return { places, isAbusive, uids: Float64Array.from(taken, ({ uid }) => uid), count: taken.length }
}
