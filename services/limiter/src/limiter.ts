/** The limiter put together from its parts: used by main.ts and by tests, over any catalog and store. */

import { createHmac } from 'node:crypto'
import type { Mirror } from '@bigtap/catalog'
import { shareOf, VERDICT } from '@bigtap/domain'
import type { Clock, Logger, Metrics, Random } from '@bigtap/kernel'
import type { KeyRing } from '@bigtap/token'
import type { createDialer } from '@bigtap/transport'
import { ActivityPages } from './activity-pages.ts'
import { AnswerCounts } from './answer-counts.ts'
import { App, type AppSettings } from './app.ts'
import { AskAgain } from './ask-again.ts'
import { ChallengeDesk, type OnceStore } from './challenge-desk.ts'
import { ACCESS_LIMIT_LIMITS, AccessLimits } from './core/access-limits.ts'
import { AskTable } from './core/ask-table.ts'
import type { CohortKey } from './core/cohort.ts'
import { Gate, notStartedReply } from './core/gate.ts'
import { Grader } from './core/grade.ts'
import { HeldBack } from './core/held-back.ts'
import { type AccessLog, NO_LOG, NO_PROFILE, NO_VERDICTS, type Profile, type VerdictBook } from './core/ports.ts'
import { EDGE_FAULTS, retryReply } from './core/replies.ts'
import type { Reply } from './core/reply.ts'
import { Sessions } from './core/session.ts'
import { Shedding, type SheddingView } from './core/shedding.ts'
import { isToldToWait, StageOne } from './core/stage-one.ts'
import { Tickets } from './core/tickets.ts'
import { isEmpty, isMoved, verdictReply } from './core/verdicts.ts'
import { CONNECTIONS_MAX, createCapOf } from './edge/cap-of.ts'
import { chooseEdge } from './edge/choose.ts'
import type { Edge, EdgeKind } from './edge/edge.ts'
import { HeldRequests } from './held-requests.ts'
import type { IdTokenVerifier } from './id-token.ts'
import { MiddleLinks } from './middle-links.ts'
import { Pipeline } from './pipeline.ts'
import { type ReservationStore, SeatKeeper } from './seats.ts'
import type { LimiterFigures } from './stats.ts'

/** What a limiter is told. */
export interface LimiterSettings extends AppSettings {
  readonly host: string
  readonly port: number
  readonly edge: EdgeKind | 'auto'
  readonly nodeId: string
  readonly clusterSecret: string
  readonly asksMax: number
  readonly askMsMax: number
  /** Most connections of one address. */
  readonly connectionsMax?: number
  isTrusted(address: string): boolean
}

/** What a limiter works with. */
export interface LimiterParts {
  readonly mirror: Mirror
  readonly reservations: ReservationStore
  readonly ring: KeyRing
  readonly verifyIdToken: IdTokenVerifier | undefined
  readonly logger: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  readonly random: Random
  /** What became of requests goes there; nowhere when it is not given. */
  readonly log?: AccessLog
  /** The verdicts in force, and what was known of buyers before; nothing when they are not given. */
  readonly verdicts?: VerdictBook
  readonly profile?: Profile
  /** Where answers to challenges are marked as used; in this process only when it is not given. */
  readonly once?: OnceStore
  /** Make the links to Middle, and the edge; others in a simulation. */
  readonly dial?: typeof createDialer
  readonly makeEdge?: typeof chooseEdge
}

/** A limiter. */
export interface Limiter {
  readonly edge: Edge
  readonly links: MiddleLinks
  readonly limits: Readonly<Record<string, unknown>>
  /** What it counts, for those who pull. */
  readonly figures: LimiterFigures
  /** Who waits, who is let in, who is shed. */
  shedding(): SheddingView
  /** Listens and gives the port. */
  start(): Promise<number>
  /** Stops to accept, lets what waits have its answer, closes the links. */
  stop(): Promise<void>
}

/** Longest body that is read; a session request with an identity token is the largest. */
export const BODY_BYTES_MAX = 16_384
/** Time for a body to arrive. */
export const BODY_MS_MAX = 3_000
const SWEEP_EVERY_MS = 20

/** Puts a limiter together; nothing starts here. */
export function createLimiter(settings: LimiterSettings, parts: LimiterParts): Limiter {
  const { clock, logger, metrics, mirror, random, ring } = parts
  const counts = new AnswerCounts(metrics)
  const asks = new AskTable({ capacity: settings.asksMax, askMsMax: settings.askMsMax })
  const gate = new Gate(mirror)
  const seats = new SeatKeeper({ catalog: mirror, store: parts.reservations, logger, metrics })
  const pages = new ActivityPages(mirror, (activityId) => seats.countOf(activityId))
  const draw = () => random.next()
  const { links, again, shedding } = linkToMiddle(settings, { ...parts, asks, gate })
  const { isTrusted } = settings
  const count = counts.count
  const { verdicts = NO_VERDICTS } = parts
  const checks = { ...createGuards(settings, parts, count), shedding }
  const stages = { clock, random, ring, gate, ...checks, asks }
  const pipeline = new Pipeline({ ...stages, seats, asker: again, isTrusted, count })
  const { verifyIdToken, once = { take: async () => true } } = parts
  const challenges = new ChallengeDesk({ ring, once, clock, random, logger, metrics })
  const more = {
    pipeline,
    challenges,
    pages,
    seats,
    catalog: mirror,
    verifyIdToken,
    logger,
    asker: again,
    isTrusted,
    count,
  }
  const app = new App(settings, { ...stages, ...more })
  const edge = (parts.makeEdge ?? chooseEdge)(
    settings.edge,
    { host: settings.host, port: settings.port, bodyBytesMax: BODY_BYTES_MAX, bodyMsMax: BODY_MS_MAX },
    {
      ...{ logger, faults: EDGE_FAULTS, onExchange: app.onExchange },
      onError: (error) => logger.error({ error }, 'a bug'),
      capOf: createCapOf(
        { connectionsMax: settings.connectionsMax ?? CONNECTIONS_MAX },
        { clock, verdicts, isTrusted },
      ),
    },
  )
  counts.watch(asks, edge)
  watchShedding(shedding, metrics)
  mirror.onChange((keys) => {
    gate.onChange(keys)
    pages.clear()
    links.follow(mirror.slotTable())
  })
  const { limits } = checks
  const figures = { edge, asks, shedding, answers: counts, skus: gate.counts, catalog: mirror, limits }
  return assemble({
    edge,
    links,
    again,
    seats,
    asks,
    settings,
    sweep: () => {
      sweep(asks, clock, draw)
      shedding.tick(clock.monotonic())
    },
    mirror,
    figures,
    shedding,
  })
}

/** What grades and limits those who ask, and the log of what becomes of them. */
function createGuards(settings: LimiterSettings, parts: LimiterParts, count: AnswerCounts['count']) {
  const { clock, metrics, mirror, random, ring, verdicts = NO_VERDICTS, profile = NO_PROFILE } = parts
  const rules = new StageOne({ seed: Buffer.from(random.bytes(4)).readUInt32LE() })
  const log = watchedLog(parts.log ?? NO_LOG, rules, clock)
  const limits = new AccessLimits({ shareAt: (now) => shareOf(mirror.shares(), settings.nodeId, now) })
  limits.watch(metrics, clock)
  const heldBack = new HeldBack()
  const tries = () => heldBack.count
  metrics.gauge('bigtap_limiter_held_back_total', 'Tries of those graded as machines that came too soon', tries)
  return {
    sessions: new Sessions(ring),
    tickets: new Tickets(ring),
    grader: new Grader({ rules, verdicts, profile }),
    held: new HeldRequests({ log, count }),
    cohortKey: cohortKeyOf(settings.clusterSecret),
    ...{ limits, heldBack, log },
  }
}

/** All limiters derive the same key, so that a buyer's cohort is the same at each. */
function cohortKeyOf(clusterSecret: string): CohortKey {
  const bytes = createHmac('sha256', clusterSecret).update('cohorts of buyers').digest()
  return { a: bytes.readUInt32LE(0), b: bytes.readUInt32LE(4) }
}

function watchShedding(shedding: Shedding, metrics: Metrics): void {
  metrics.gauge('bigtap_limiter_shed_threshold_count', 'Ranks that are let in, of 96', () => shedding.threshold)
  metrics.gauge('bigtap_limiter_queue_wait_seconds', 'Longest wait of an ask now', () => shedding.waitMs / 1_000)
  metrics.gauge('bigtap_limiter_queue_depth', 'Asks that wait to be sent to Middle', () => shedding.waiting)
  metrics.gauge('bigtap_limiter_in_flight_count', 'Asks under way at Middle', () => shedding.inFlight)
  metrics.gauge('bigtap_limiter_loop_delay_seconds', 'Longest standstill lately', () => shedding.loopMs / 1_000)
  for (const tier of shedding.shed.keys()) {
    const labels = { tier: `${tier}` }
    metrics.gauge('bigtap_limiter_shed_total', 'Requests that were shed', () => shedding.shed[tier] as number, labels)
    metrics.gauge('bigtap_limiter_let_in_total', 'Asks sent to Middle', () => shedding.letIn[tier] as number, labels)
  }
}

/** Stage one sees who is told to come back later. */
function watchedLog(log: AccessLog, rules: StageOne, clock: Clock): AccessLog {
  return {
    note: (who, call, outcome, flags, tier) => {
      if (isToldToWait(outcome)) rules.toldToWait(who.uid, clock.now())
      log.note(who, call, outcome, flags, tier)
    },
  }
}

/** Asks go to the owners of their slots; what nobody decides about now is asked again. */
function linkToMiddle(
  settings: LimiterSettings,
  parts: LimiterParts & { asks: AskTable; gate: Gate },
): { links: MiddleLinks; again: AskAgain; shedding: Shedding } {
  const { asks, gate, mirror, random, logger, metrics, clock, dial } = parts
  const answer = (askId: number, reply: Reply) => {
    asks.settle(askId, reply)
  }
  const isOwner = (askId: number, nodeId: string) => links.isOwner(nodeId, asks.uidOf(askId))
  const links = new MiddleLinks(settings, {
    ...{ logger, metrics, clock, random },
    ...(dial === undefined ? {} : { dial }),
    onVerdict: (verdicts, row, nodeId) => {
      const askId = verdicts.askId[row] ?? 0
      const code = verdicts.code[row]
      if (isEmpty(code) && asks.uidOf(askId) > 0 && !isOwner(askId, nodeId)) return
      if (isMoved(code) && asks.uidOf(askId) > 0) return again.putOff(askId)
      shedding.onVerdict(askId, code ?? VERDICT.unavailable, clock.monotonic())
      const opening = () => notStartedReply(mirror.activity(asks.activityOf(askId))?.opensAt ?? 0)
      answer(askId, verdictReply(verdicts, row, random.next(), opening))
    },
    onShedFrom: (lane, rank) => shedding.onShedFrom(lane, rank, clock.monotonic()),
    onUnsent: (askId, isLost) => {
      if (isLost) again.putOff(askId)
      else answer(askId, retryReply('overloaded', random.next()))
    },
    onLost: (nodeId) => again.onLost((uid) => links.isOwner(nodeId, uid)),
    onMoved: (isMoved) => again.onMoved(isMoved),
  })
  const onGivenUp = (askId: number) => answer(askId, retryReply('unavailable', random.next()))
  const shedding = new Shedding(
    { tickMs: SWEEP_EVERY_MS },
    {
      asks,
      laneOf: (uid) => links.laneOf(uid),
      send: (askId, uid, activityId, skuId) => links.ask(askId, uid, activityId, skuId),
      onShed: (askId) => {
        gate.countShed(asks.activityOf(askId), asks.skuOf(askId))
        answer(askId, retryReply('overloaded', random.next()))
      },
      onNoLink: (askId) => again.putOff(askId),
    },
  )
  const again = new AskAgain({ asks, links: shedding, onGivenUp })
  return { links, again, shedding }
}

function sweep(asks: AskTable, clock: Clock, draw: () => number): void {
  if (asks.used > 0) asks.sweep(clock.monotonic(), () => retryReply('unavailable', draw()))
}

interface Assembly {
  readonly edge: Edge
  readonly links: MiddleLinks
  readonly again: AskAgain
  readonly seats: SeatKeeper
  readonly asks: AskTable
  readonly settings: LimiterSettings
  readonly mirror: Mirror
  readonly figures: LimiterFigures
  readonly shedding: Shedding
  sweep(): void
}

function assemble({ edge, links, again, seats, asks, settings, sweep, mirror, figures, shedding }: Assembly): Limiter {
  let timer: NodeJS.Timeout | undefined
  return {
    edge,
    links,
    figures,
    shedding: () => shedding.view(),
    limits: {
      asksMax: settings.asksMax,
      askMsMax: settings.askMsMax,
      bodyBytesMax: BODY_BYTES_MAX,
      bodyMsMax: BODY_MS_MAX,
      ...ACCESS_LIMIT_LIMITS,
    },
    start: async () => {
      timer = setInterval(sweep, SWEEP_EVERY_MS)
      links.follow(mirror.slotTable())
      seats.start()
      return await edge.start()
    },
    stop: async () => {
      await edge.stop()
      for (let waited = 0; asks.used > 0 && waited < settings.askMsMax + 2 * SWEEP_EVERY_MS; waited += 10) {
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      clearInterval(timer)
      again.stop()
      seats.stop()
      await links.stop()
    },
  }
}
