/**
 * Antiblack put together, not started yet.
 *
 * ```
 *   topic access ─► intake ─► engine ── tick 100 ms ──► judge ─► outbox ─► speaker ─► board ─► routers ─► limiters
 *                               ▲ ▲                       ▲ withheld         ▲           └──► topic verdicts
 *             rules, model ─────┘ │                       │                  │ said again
 *             mirror              └── restored ── standing verdicts ◄── follower ◄── board (others, operators)
 * ```
 */

import type { Mirror } from '@bigtap/catalog'
import {
  ABUSE_MODEL_KEY,
  ABUSE_RULES_KEY,
  type AbuseModelDoc,
  type AbuseRulesDoc,
  BLOCKED_TIER,
  TIER_COUNT,
} from '@bigtap/domain'
import type { Consumer, Producer } from '@bigtap/eventlog'
import type { Clock, Logger, Metrics, Random } from '@bigtap/kernel'
import type { AbuseVerdictBatch } from '@bigtap/protocol'
import type { AbuseBoard } from '@bigtap/store'
import { type Engine, judge } from './abuse-judge.ts'
import { AccessIntake } from './access-intake.ts'
import { AccessRecorder } from './access-recorder.ts'
import { BoardFollower } from './board-follower.ts'
import { declareMetrics } from './metrics.ts'
import { ANTIBLACK, StandingVerdicts } from './standing-verdicts.ts'
import { VerdictOutbox } from './verdict-outbox.ts'
import { SAY_MAX, VerdictSpeaker } from './verdict-speaker.ts'
import { TOPIC_WAITING_MAX, VerdictTopic } from './verdict-topic.ts'

/** Settings (see config.ts). */
export interface AntiblackSettings {
  readonly staleMs: number
  readonly outboxMax: number
  readonly standingMax: number
  readonly mercyMs: number
  readonly recordFile: string | undefined
  readonly recordBytesMax: number
}

/** Collaborators. */
export interface AntiblackParts {
  readonly engine: Engine
  /** In force while there is no document. */
  readonly defaults: { readonly rules: AbuseRulesDoc; readonly model: AbuseModelDoc | undefined }
  readonly mirror: Pick<Mirror, 'abuseRules' | 'abuseModel' | 'onChange'>
  readonly board: Pick<AbuseBoard, 'say' | 'readHead' | 'since' | 'active'>
  readonly producer: Producer
  readonly consumer: Pick<Consumer, 'lag' | 'dropped'>
  /** Tells every router. */
  push(batch: AbuseVerdictBatch): void
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: Metrics
}

/** Limits that are no settings; shown at /debug/config. `rowsMax`: of one record of the request log. */
export const LIMITS = { rowsMax: 65_536, sayMax: SAY_MAX, topicWaitingMax: TOPIC_WAITING_MAX, shownMax: 100 } as const

/** All of it; its owner runs the rounds. */
export function createAntiblack(settings: AntiblackSettings, parts: AntiblackParts) {
  const { engine, clock, logger } = parts
  const now = () => clock.now()
  const standing = new StandingVerdicts(settings)
  const outbox = new VerdictOutbox(settings)
  const topic = new VerdictTopic(parts.producer)
  const recorder = recorderOf(settings, logger)
  const intake = new AccessIntake(
    { ...settings, rowsMax: LIMITS.rowsMax },
    { engine, clock, logger, ...(recorder && { record: (value: Uint8Array) => recorder.write(value) }) },
  )
  const follower = new BoardFollower({ ...parts, standing, sayAgain: (verdict) => outbox.push(verdict) })
  const said: number[] = Array.from({ length: TIER_COUNT }, () => 0)
  let blocked = 0
  const onSaid = (batch: AbuseVerdictBatch) => {
    parts.push(batch)
    topic.add(batch)
    for (const [index, verdict] of batch.verdicts.entries()) {
      standing.hear(verdict, batch.from + index, now())
      sayDelay.observe(Math.max(0, now() - verdict.at) / 1_000)
      said[verdict.tier] = (said[verdict.tier] ?? 0) + 1
      if (verdict.tier >= BLOCKED_TIER && !verdict.isShadow) blocked++
    }
  }
  const mayBeSaid = (verdict: Parameters<typeof standing.refusal>[0]) => standing.refusal(verdict, now()) === undefined
  const speaker = new VerdictSpeaker({ ...parts, outbox, mayBeSaid, onSaid })
  const counts = {
    standing,
    outbox,
    topic,
    intake,
    follower,
    speaker,
    recorder,
    engine,
    said,
    lag: () => lag,
    fallen: () => fallen,
  }
  const { onWithheld, sayDelay } = declareMetrics(parts.metrics, counts)
  let lag = 0
  let fallen = 0
  let { isShadow } = configure(parts)
  parts.mirror.onChange((keys) => {
    if (!keys.includes(ABUSE_RULES_KEY) && !keys.includes(ABUSE_MODEL_KEY)) return
    const wasShadow = isShadow
    isShadow = configure(parts).isShadow
    if (isShadow && !wasShadow) showOnly(standing, outbox, parts)
  })
  return {
    ...counts,
    /** Buyers blocked since the start, shadows not among them. */
    blocked: () => blocked,
    /** Judges, and begins to say what is to be said; nothing is said before the board was read. */
    tick: (): void => {
      judge({ engine, standing, outbox, onWithheld }, now())
      if (follower.isLoaded) void speaker.flush()
    },
    follow: () => follower.round(),
    carry: () => topic.flush(),
    readLag: async (): Promise<void> => {
      lag = await parts.consumer.lag()
      fallen = await parts.consumer.dropped()
    },
    flush: () => speaker.flush(),
    /** For /debug/verdicts: the newest in force, uids masked. */
    view: () => viewOf(standing, now()),
  }
}

/** What runs. */
export type Antiblack = ReturnType<typeof createAntiblack>

function recorderOf({ recordFile, recordBytesMax }: AntiblackSettings, logger: Logger): AccessRecorder | undefined {
  return recordFile === undefined
    ? undefined
    : new AccessRecorder({ file: recordFile, bytesMax: recordBytesMax }, { logger })
}

/** The mirror keeps the last good documents; one that the engine itself cannot take changes nothing either. */
function configure({ engine, defaults, mirror, logger }: AntiblackParts): AbuseRulesDoc {
  const rules = mirror.abuseRules() ?? defaults.rules
  const model = mirror.abuseModel() ?? defaults.model
  try {
    engine.configure(rules, model)
    logger.info({ rules: rules.version, model: model?.version, isShadow: rules.isShadow }, 'abuse is judged by')
  } catch (error) {
    logger.error({ error, rules: rules.version, model: model?.version }, 'rules and model stay as they were')
  }
  return rules
}

/** The switch to shadow mode counts for what is in force too: it is said again, only to be shown. */
function showOnly(standing: StandingVerdicts, outbox: VerdictOutbox, { engine, clock, random }: AntiblackParts): void {
  const at = clock.now()
  for (const verdict of standing.inForce(at)) {
    if (verdict.by !== ANTIBLACK || verdict.isShadow) continue
    const shown = { ...verdict, id: Buffer.from(random.bytes(8)).toString('hex'), at, isShadow: true }
    engine.restore([shown])
    outbox.push(shown)
  }
}

function viewOf(standing: StandingVerdicts, now: number) {
  const newest = [...standing.inForce(now)].slice(-LIMITS.shownMax).reverse()
  const masked = newest.map(({ kind, key, ...rest }) => ({
    kind,
    key: kind === 'uid' ? `…${key.slice(-3)}` : key,
    ...rest,
  }))
  return { standing: standing.size, verdicts: masked }
}
