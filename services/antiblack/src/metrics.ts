import type { Metrics } from '@bigtap/kernel'
import { type Engine, WITHHELD, type Withheld } from './abuse-judge.ts'
import { type AccessIntake, SKIPS } from './access-intake.ts'
import type { AccessRecorder } from './access-recorder.ts'
import type { BoardFollower } from './board-follower.ts'
import type { StandingVerdicts } from './standing-verdicts.ts'
import type { VerdictOutbox } from './verdict-outbox.ts'
import type { VerdictSpeaker } from './verdict-speaker.ts'
import { TOPIC_WAITING_MAX, type VerdictTopic } from './verdict-topic.ts'

/** Where the counts stand. */
export interface Counts {
  readonly intake: AccessIntake
  readonly standing: StandingVerdicts
  readonly outbox: VerdictOutbox
  readonly topic: VerdictTopic
  readonly follower: BoardFollower
  readonly speaker: VerdictSpeaker
  readonly recorder: AccessRecorder | undefined
  readonly engine: Pick<Engine, 'size' | 'bytes' | 'counters'>
  /** Verdicts said, by tier. */
  readonly said: readonly number[]
  /** Records of the log that are not handled yet. */
  lag(): number
  /** Records that fell from the log before they were handled. */
  fallen(): number
}

/** What antiblack counts. */
export function declareMetrics(metrics: Metrics, counts: Counts) {
  const { intake, standing, outbox, topic, follower, speaker, recorder, engine, said, lag, fallen } = counts
  const gauge = (name: string, help: string, read: () => number, labels?: Record<string, string>) =>
    metrics.gauge(`bigtap_antiblack_${name}`, help, read, labels)
  gauge('events_count', 'requests that were observed, since the start', () => intake.events)
  gauge('records_count', 'records of the request log that were read, since the start', () => intake.records)
  for (const reason of SKIPS)
    gauge('skipped_records_count', 'records passed over, by reason', () => intake.skipped[reason], { reason })
  gauge('lag_records', 'records of the request log that are not handled yet', lag)
  gauge('fallen_records', 'records that fell from the request log before they were handled', fallen)
  gauge('behind_partitions_count', 'partitions whose old records are being passed over', () => intake.behind)
  gauge('subjects_count', 'subjects that have windows', () => engine.size)
  gauge('untimely_rows_count', 'requests that no window took: too old, or ahead', () => engine.counters.outOfTime)
  gauge(
    'engine_dropped_count',
    'verdicts that were not given, because too many are in force',
    () => engine.counters.dropped,
  )
  gauge('engine_bytes', 'memory of windows and sketches, about', () => engine.bytes)
  for (const [tier] of said.entries())
    gauge('verdicts_count', 'verdicts said since the start, by tier', () => said[tier] ?? 0, { tier: `${tier}` })
  gauge('standing_count', 'verdicts in force or in mercy that are remembered', () => standing.size)
  gauge(
    'standing_dropped_count',
    'verdicts that were not remembered, because there were too many',
    () => standing.forgotten,
  )
  gauge('outbox_depth_count', 'verdicts that wait to be said', () => outbox.size)
  gauge('outbox_capacity_count', 'most verdicts that wait to be said', () => outbox.capacity)
  gauge('outbox_dropped_count', 'verdicts that fell because too many waited', () => outbox.dropped)
  gauge('outbox_expired_count', 'verdicts that ran out while they waited', () => outbox.expired)
  gauge('board_faults_count', 'calls of the board that failed', () => speaker.faults)
  gauge('board_reads_count', 'times that the board was read whole', () => follower.reloads)
  gauge('topic_depth_count', 'verdicts that wait for the topic', () => topic.size)
  gauge('topic_capacity_count', 'most verdicts that wait for the topic', () => TOPIC_WAITING_MAX)
  gauge('topic_dropped_count', 'verdicts that the topic never got', () => topic.dropped)
  if (recorder !== undefined) {
    gauge('recorded_bytes', 'size of the copy of the request log', () => recorder.bytes)
    gauge('record_dropped_count', 'records that the copy lacks, because the disk was slow', () => recorder.dropped)
  }
  const withheld = new Map(
    WITHHELD.map((reason) => [
      reason,
      metrics.counter('bigtap_antiblack_withheld_total', 'verdicts that were not said, by reason', { reason }),
    ]),
  )
  const sayDelay = metrics.histogram('bigtap_antiblack_say_seconds', 'from a verdict to its place on the board')
  return { sayDelay, onWithheld: (reason: Withheld): void => withheld.get(reason)?.inc() }
}
