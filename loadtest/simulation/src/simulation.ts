/** One run of one seed: the sale, its crowd, its faults, and what must hold at the end. */

import { hasLine } from '@bigtap/domain'
import { createKeyRing } from '@bigtap/token'
import { scheduleFaults } from './fault-plan.ts'
import { areFrontsLevel, checkEnd } from './final-check.ts'
import { Buyer } from './platform/buyer.ts'
import { EventLogHost } from './platform/event-log-host.ts'
import { Oracle } from './platform/oracle.ts'
import { Platform } from './platform/platform.ts'
import { RecordHost } from './platform/record-host.ts'
import { type Mistakes, NO_MISTAKES, type Site } from './platform/site.ts'
import { drawScenario, finisher, type Scenario, TIMES } from './scenario.ts'
import { LinkHub } from './world/links.ts'
import { Network, QUIET_NETWORK } from './world/network.ts'
import { RedisHost } from './world/redis-host.ts'
import { RemoteServer } from './world/remote.ts'
import { installTimers } from './world/virtual-timers.ts'
import { EPOCH_MS, type Violation, World } from './world/world.ts'

/** What came of a run. */
export interface RunResult {
  readonly seed: number
  readonly violation: Violation | undefined
  /** Equal for two runs that did the same. */
  readonly hash: string
  readonly events: number
  readonly virtualMs: number
  readonly counts: Oracle['counts']
  /** The last lines of the log. */
  readonly log: readonly string[]
}

/** How a run is made. */
export interface RunOptions {
  readonly mistakes?: Partial<Mistakes>
  readonly isVerbose?: boolean
}

const FINISHER_EVERY_MS = 150
const FIRST_FINISHER = 100_000
const FINISHER_MS = { direct: 3_000, lined: 20_000 } as const
const SECRET = 'a secret of the simulation'

/** Runs a seed. The same seed does the same, event for event. */
export async function runSeed(seed: number, { mistakes = {}, isVerbose = false }: RunOptions = {}): Promise<RunResult> {
  const world = new World(seed)
  world.isVerbose = isVerbose
  const restore = installTimers(world)
  const onRejection = (reason: unknown) => world.violate(`a promise was rejected and nobody cared: ${String(reason)}`)
  process.on('unhandledRejection', onRejection)
  try {
    const scenario = drawScenario(world)
    const platform = buildPlatform(world, scenario, { ...NO_MISTAKES, ...mistakes })
    await runSale(platform, scenario)
    return resultOf(seed, platform)
  } finally {
    process.off('unhandledRejection', onRejection)
    restore()
  }
}

function buildPlatform(world: World, { sale, counts }: Scenario, mistakes: Mistakes): Platform {
  const network = new Network(QUIET_NETWORK, world)
  const redis = new RedisHost(world, network)
  redis.model.omit = mistakes
  const { id, rule } = sale.activity
  const limit = rule === 'unlimited' ? Number.POSITIVE_INFINITY : (sale.skus[0]?.limitPerBuyer ?? 1)
  const oracle = new Oracle({ activityId: id, limit, isOneProduct: rule === 'one-product-per-activity' }, world, redis)
  oracle.hasSeveralCounters = counts.counters > 1
  const server = (host: string) => new RemoteServer(host, world, network)
  const site: Site = {
    ...{ world, network, redis, oracle, sale, mistakes },
    hub: new LinkHub(world, network),
    record: new RecordHost(sale, server('postgres'), () => EPOCH_MS + Math.floor(world.now)),
    eventLog: new EventLogHost(server('log'), world),
    ring: createKeyRing({ current: SECRET }),
  }
  return new Platform(site, counts)
}

async function runSale(platform: Platform, { buyers, faults, sale }: Scenario): Promise<void> {
  const { world } = platform.site
  platform.startMissing()
  scheduleFaults(platform, faults)
  const parts = { site: platform.site, doors: platform.doors }
  for (const { uid, at, traits } of buyers) world.after(at, () => new Buyer(uid, traits, parts).start())
  await world.runUntil(TIMES.finishFrom)
  // In a line impatient buyers would only be called after they have left.
  const patienceMs = hasLine(sale.activity) ? FINISHER_MS.lined : FINISHER_MS.direct
  let uid = FIRST_FINISHER
  while (world.violation === undefined && world.now < TIMES.giveUpAt && !isAllSold(platform)) {
    for (const { id } of sale.skus) new Buyer(uid++, finisher(id, world.now + patienceMs), parts).start()
    await world.runUntil(world.now + FINISHER_EVERY_MS)
  }
  if (world.violation === undefined && !isAllSold(platform)) world.violate(`not all was sold: ${figuresText(platform)}`)
  await world.runUntil(world.now + TIMES.drain)
  for (let more = 0; more < TIMES.settle && !areFrontsLevel(platform); more += 250)
    await world.runUntil(world.now + 250)
  if (world.violation === undefined) checkEnd(platform)
}

function isAllSold({ site }: Platform): boolean {
  return site.sale.skus.every(({ id, stock }) => site.oracle.figures(id).sold === stock)
}

function figuresText({ site }: Platform): string {
  return site.sale.skus.map(({ id }) => JSON.stringify(site.oracle.figures(id))).join(' ')
}

function resultOf(seed: number, { site }: Platform): RunResult {
  const { world, oracle } = site
  const { violation, hash, events, log } = world
  return { seed, violation, hash, events, virtualMs: Math.round(world.now), counts: oracle.counts, log }
}
