/** The faults of a run: drawn from the seed, thrown in while the sale runs, all over at its end. */

import type { Platform } from './platform/platform.ts'
import { TIMES } from './scenario.ts'
import { QUIET_NETWORK } from './world/network.ts'
import type { SimProcess } from './world/process.ts'
import { REDIS_HOST } from './world/redis-host.ts'

/** Begins a fault; one that lasts ends by itself. */
type Fault = (platform: Platform) => void

const LASTS_MS = { min: 200, max: 3_500 }
/** Two clocks are at most this far apart, ms: twice this is what the product allows for (EXPIRY_MARGIN_MS). */
const JUMP_MS_MAX = 200
const DRIFT_MAX = 0.0005

const FAULTS: Readonly<Record<string, { weight: number; begin: Fault }>> = {
  'kill a middle': { weight: 3, begin: (platform) => killOne(platform, 'middle') },
  'kill any': { weight: 1, begin: (platform) => killOne(platform) },
  'hang a middle': { weight: 2, begin: (platform) => hangOne(platform, 'middle') },
  'hang any': { weight: 1, begin: (platform) => hangOne(platform) },
  'leave a middle': { weight: 2, begin: leaveOne },
  'a twin': { weight: 4, begin: twin },
  'cut from redis': { weight: 3, begin: cutFromRedis },
  'cut two': { weight: 1, begin: cutTwo },
  'move a clock': { weight: 2, begin: moveClock },
  'redis fails over': { weight: 4, begin: failOver },
  'redis restarts': { weight: 2, begin: restart },
  'redis stalls': { weight: 1, begin: stall },
  'redis drops connections': { weight: 1, begin: ({ site }) => site.redis.dropConnections(0.5) },
  'postgres is away': { weight: 1, begin: (platform) => away(platform, platform.site.record.server) },
  'postgres is unsure': { weight: 1, begin: (platform) => unsure(platform) },
  'the log is away': { weight: 1, begin: (platform) => away(platform, platform.site.eventLog.server) },
  'the network is bad': { weight: 1, begin: badNetwork },
}

/** Schedules `count` faults of a few kinds: runs that differ in what goes wrong find more than runs where all does. */
export function scheduleFaults(platform: Platform, count: number): void {
  const { world } = platform.site
  const names = Object.entries(FAULTS).flatMap(([name, { weight }]) => Array.from({ length: weight }, () => name))
  const few = Array.from({ length: 1 + world.below(4) }, () => names[world.below(names.length)] ?? '')
  for (let index = 0; index < count; index++) {
    const name = few[world.below(few.length)] ?? ''
    world.after(world.between(TIMES.faultsFrom, TIMES.faultsUntil), () => {
      world.note(`fault: ${name}`)
      FAULTS[name]?.begin(platform)
    })
  }
  world.after(TIMES.faultsUntil + 600, () => endAll(platform))
}

/** All is well again: what was cut is joined, what hung goes on, what was killed is there. */
function endAll(platform: Platform): void {
  const { site } = platform
  site.world.note('all faults end')
  site.network.healAll()
  site.network.rates = QUIET_NETWORK
  site.record.server.isUp = true
  site.record.server.unknown = 0
  site.eventLog.server.isUp = true
  if (!site.redis.isUp) site.redis.comeBack()
  site.redis.clockOffsetMs = 0
  for (const process of platform.running()) {
    process.goOn()
    process.clockOffsetMs = 0
    process.driftPerMs = 0
  }
  platform.killTwins()
  platform.startMissing()
}

function lasting({ site: { world } }: Platform): number {
  return world.between(LASTS_MS.min, LASTS_MS.max)
}

function pick(platform: Platform, role?: string): SimProcess | undefined {
  const all = platform.running().filter((process) => role === undefined || process.role === role)
  return all[platform.site.world.below(all.length)]
}

function killOne(platform: Platform, role?: string): void {
  const { world } = platform.site
  const process = pick(platform, role)
  if (process === undefined) return
  process.kill()
  world.after(lasting(platform), () => platform.restart(process.id))
}

/**
 * A Middle node is taken for dead and started again elsewhere, while the old process only hung, was cut off from Redis, or
 * is well: some limiters then stay with the old one and some come to the new one.
 */
function twin(platform: Platform): void {
  const { world } = platform.site
  const old = pick(platform, 'middle')
  if (old === undefined) return
  const lastsMs = lasting(platform)
  const limiter = pick(platform, 'limiter')
  const draw = world.below(4)
  if (draw === 0) {
    old.hang()
    world.after(lastsMs, () => old.goOn())
  } else if (draw === 1) cut(platform, old.host, REDIS_HOST)
  if (draw > 0 && limiter !== undefined) cut(platform, old.host, limiter.host)
  world.after(world.between(50, 500), () => {
    if (old.state !== 'dead') platform.startTwin(old.id)
  })
  world.after(lastsMs + 4_000, () => old.kill())
}

function hangOne(platform: Platform, role?: string): void {
  const process = pick(platform, role)
  process?.hang()
  platform.site.world.after(lasting(platform), () => process?.goOn())
}

function leaveOne(platform: Platform): void {
  const process = pick(platform, 'middle')
  if (process === undefined) return
  const { world } = platform.site
  // Cut off from the routers it learns late that its slots are others' already.
  if (world.chance(0.6)) for (const router of platform.hostsOf('mdw-router')) cut(platform, process.host, router)
  platform.leave(process.id)
  world.after(3_000, () => {
    process.kill()
    const isOver = world.now > TIMES.faultsUntil
    world.after(isOver ? 1 : lasting(platform), () => platform.restart(process.id))
  })
}

function cutFromRedis(platform: Platform): void {
  const process = pick(platform, platform.site.world.chance(0.6) ? 'middle' : undefined)
  if (process !== undefined) cut(platform, process.host, REDIS_HOST)
}

function cutTwo(platform: Platform): void {
  const [a, b] = [pick(platform), pick(platform)]
  if (a !== undefined && b !== undefined && a !== b) cut(platform, a.host, b.host)
}

function cut(platform: Platform, a: string, b: string): void {
  const { world, network } = platform.site
  world.note(`cut ${a} from ${b}`)
  network.cut(a, b)
  world.after(lasting(platform), () => network.heal(a, b))
}

function moveClock(platform: Platform): void {
  const { world, redis } = platform.site
  const offset = world.between(-JUMP_MS_MAX, JUMP_MS_MAX)
  const process = world.chance(0.15) ? undefined : pick(platform)
  world.note(`clock of ${process?.id ?? 'redis'} is ${offset.toFixed(0)} ms off`)
  if (process === undefined) redis.clockOffsetMs = offset
  else {
    process.clockOffsetMs = offset
    process.driftPerMs = world.between(-DRIFT_MAX, DRIFT_MAX)
  }
}

function failOver(platform: Platform): void {
  const { world, redis, oracle } = platform.site
  const replica = redis.model.keys.clone()
  const lagMs = world.between(1, 400)
  world.after(lagMs, () => {
    if (!redis.isUp) return
    redis.goAway()
    world.after(world.between(50, 1_200), () => {
      if (redis.isUp) return
      oracle.onFailover(redis.model.keys, replica)
      redis.comeBack(replica)
    })
  })
}

function restart(platform: Platform): void {
  const { world, redis } = platform.site
  if (!redis.isUp) return
  redis.goAway()
  world.after(world.between(50, 1_200), () => {
    if (!redis.isUp) redis.comeBack()
  })
}

function stall({ site: { world, redis } }: Platform): void {
  redis.stalledUntil = world.now + world.between(30, 900)
  world.note(`redis stalls until ${redis.stalledUntil.toFixed(0)}`)
}

function away(platform: Platform, server: { isUp: boolean }): void {
  server.isUp = false
  platform.site.world.after(lasting(platform), () => {
    server.isUp = true
  })
}

function unsure(platform: Platform): void {
  const { world, record } = platform.site
  record.server.unknown = 0.3
  world.after(lasting(platform), () => {
    record.server.unknown = 0
  })
}

function badNetwork(platform: Platform): void {
  const { world, network } = platform.site
  const share = () => world.between(0, 0.08)
  network.rates = {
    ...{ latencyMs: 0.5, jitterMs: 4, slow: share(), slowMs: 250 },
    ...{ lost: share(), twice: share(), reordered: share() * 2 },
  }
  world.after(lasting(platform), () => {
    network.rates = QUIET_NETWORK
  })
}
