/** Composition root of antiblack: topic access → windows → verdicts → board, routers, topic verdicts. */

import { createFront } from '@bigtap/catalog'
import { DEFAULT_ABUSE_RULES } from '@bigtap/domain'
import { openEventLog } from '@bigtap/eventlog'
import { encodeAbuseVerdicts, KIND } from '@bigtap/protocol'
import { createWorker, runService, watchProcess } from '@bigtap/runtime'
import { AbuseBoard, AnswerBox, connectStore, createFigurePush, PUSH_EVERY_MS } from '@bigtap/store'
import { createAntiblack, LIMITS } from './antiblack.ts'
import { settings as spec } from './config.ts'
import { DEFAULT_ABUSE_MODEL } from './core/default-model.ts'
import { AbuseEngine, DEFAULT_ABUSE_LIMITS } from './core/engine.ts'
import { createExplainer } from './explainer.ts'
import { createFigures } from './figures.ts'

const FOLLOW_MS = 500
const CARRY_MS = 200
const LAG_MS = 1_000
const REDIS_WAIT_MS = 2_000

await runService('antiblack', spec, (context) => {
  const { settings, logger, clock, random, page } = context
  const { nodeId, batchMax, tickMs, outboxMax, standingMax } = settings
  const store = connectStore({ url: settings.redisUrl, commandMsMax: settings.redisMsMax }, { logger })
  const limits = { ...DEFAULT_ABUSE_LIMITS, seed: Math.floor(random.next() * 2 ** 32) }
  const engine = new AbuseEngine(limits)
  const answers = new AnswerBox(store)
  const onCall = createExplainer({ nodeId, engine, answers, clock, logger })
  const front = createFront({ ...context, service: 'antiblack', role: 'antiblack', store, onCall })
  const log = openEventLog(settings, { logger })
  const consumer = log.consumer({ topic: 'access', group: 'antiblack', recordsMax: batchMax })
  const antiblack = createAntiblack(settings, {
    ...context,
    ...{ engine, consumer, mirror: front.mirror, board: new AbuseBoard(store), producer: log.producer() },
    defaults: { rules: DEFAULT_ABUSE_RULES, model: DEFAULT_ABUSE_MODEL },
    push: (batch) => void front.links.tell(KIND.abuseVerdicts, encodeAbuseVerdicts(batch)),
  })
  const worker = (name: string, everyMs: number, work: () => Promise<unknown> | unknown) =>
    createWorker({ name, everyMs, work, startsAtOnce: true }, logger)
  const readFigures = createFigures(antiblack)
  const push = createFigurePush({
    ...{ role: 'antiblack', nodeId, store, clock, catalog: front.mirror, readProcess: watchProcess() },
    readOwn: () => ({ figures: readFigures() }),
  })
  page('/debug/verdicts', () => antiblack.view())
  return [
    // Without Redis it starts too: what is found waits.
    {
      name: 'redis',
      start: () => store.waitUntilReady(REDIS_WAIT_MS).catch(() => undefined),
      stop: () => store.close(),
      ready: () => store.ready(),
    },
    ...front.parts,
    { name: 'recorder', start: () => antiblack.recorder?.start(), stop: () => antiblack.recorder?.stop() },
    { ...worker('board', FOLLOW_MS, () => antiblack.follow()), ready: () => antiblack.follower.isLoaded },
    { name: 'event log', stop: () => log.close(), limits: { batchMax } },
    worker('topic verdicts', CARRY_MS, () => antiblack.carry()),
    {
      name: 'consumer',
      start: () => consumer.run((batch) => antiblack.intake.handle(batch)),
      stop: () => consumer.stop(),
    },
    worker('lag', LAG_MS, () => antiblack.readLag()),
    { name: 'last words', stop: () => antiblack.flush() },
    { ...worker('judge', tickMs, () => antiblack.tick()), limits: { ...LIMITS, ...limits, outboxMax, standingMax } },
    worker('figures', PUSH_EVERY_MS, push),
    front.heartbeat,
  ]
})
