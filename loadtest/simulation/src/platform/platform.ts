/** All processes of the simulated platform, and how they are started again. */

import type { Counts } from '../scenario.ts'
import type { SimProcess } from '../world/process.ts'
import type { Doors } from './buyer.ts'
import { type CartFront, startCart } from './cart.ts'
import { startCounter } from './counter.ts'
import type { Front } from './front.ts'
import { type LimiterFront, startLimiter } from './limiter.ts'
import { startMaster } from './master.ts'
import { startMiddle } from './middle.ts'
import { type OrderFront, startOrder } from './order.ts'
import { startRouter } from './router.ts'
import type { Site } from './site.ts'

/** Keeps each process of the platform, or its successor. */
export class Platform {
  readonly site: Site
  readonly #ids: readonly string[]
  readonly #processes = new Map<string, SimProcess>()
  readonly #twins: SimProcess[] = []
  readonly #fronts = new Map<string, Front>()
  readonly #middles = new Map<string, { leave(): void }>()
  readonly #limiters = new Map<string, LimiterFront>()
  readonly #carts = new Map<string, CartFront>()
  readonly #orders = new Map<string, OrderFront>()

  constructor(site: Site, counts: Counts) {
    this.site = site
    const named = (role: string, count: number) => Array.from({ length: count }, (_, index) => `${role}-${index + 1}`)
    this.#ids = [
      ...named('middle', counts.middles),
      ...named('limiter', counts.limiters),
      ...named('counter', counts.counters),
      ...named('mdwrouter', 2),
      ...named('master', counts.masters),
      ...named('cart', 1),
      ...named('order', 1),
    ]
  }

  /** Starts what is not there. */
  startMissing(): void {
    for (const id of this.#ids) if ((this.#processes.get(id)?.state ?? 'dead') === 'dead') this.#start(id)
  }

  /** Starts a process that was killed; one that is there already stays. */
  restart(id: string): void {
    if (this.#processes.get(id)?.state === 'dead') this.#start(id)
  }

  /** Starts a process beside one that is still there under the same name. */
  startTwin(id: string): void {
    const { world } = this.site
    const old = this.#processes.get(id)
    if (old !== undefined) this.#twins.push(old)
    world.hosts.set(id, `${id}-${this.#twins.length}`)
    world.note(`a twin of ${id} is started`)
    this.#start(id)
  }

  /** Ends the old ones of all twins. */
  killTwins(): void {
    for (const old of this.#twins) old.kill()
  }

  /** A Middle node says that it wants to leave. */
  leave(id: string): void {
    this.site.world.note(`${id} wants to leave`)
    this.#middles.get(id)?.leave()
  }

  /** Processes that are not dead. */
  running(): SimProcess[] {
    return [...this.#processes.values()].filter(({ state }) => state !== 'dead')
  }

  /** Machines of the processes of a role. */
  hostsOf(role: string): string[] {
    return this.running().flatMap((process) => (process.role === role ? [process.host] : []))
  }

  /** Everything that follows the catalog. */
  fronts(): Front[] {
    return [...this.#fronts.values()]
  }

  /** What is open to the public. */
  get doors(): Doors {
    const any = <T>(all: ReadonlyMap<string, T>): T | undefined => [...all.values()][this.site.world.below(all.size)]
    return { limiter: () => any(this.#limiters), cart: () => any(this.#carts), order: () => any(this.#orders) }
  }

  #start(id: string): void {
    const { site } = this
    const role = id.split('-')[0]
    if (role === 'master' || role === 'mdwrouter') {
      this.#processes.set(id, (role === 'master' ? startMaster : startRouter)(site, id).process)
      return
    }
    const front = this.#startFront(id, role ?? '')
    front.process.onDeath.push(() => site.oracle.onDeath(id))
    this.#fronts.set(id, front)
    this.#processes.set(id, front.process)
  }

  #startFront(id: string, role: string): Front {
    const { site } = this
    const keep = <T extends Front>(map: Map<string, T>, front: T) => {
      map.set(id, front)
      return front
    }
    if (role === 'limiter') return keep(this.#limiters, startLimiter(site, id))
    if (role === 'cart') return keep(this.#carts, startCart(site, id))
    if (role === 'order') return keep(this.#orders, startOrder(site, id))
    if (role === 'counter') return startCounter(site, id)
    const middle = startMiddle(site, id)
    this.#middles.set(id, middle)
    return middle
  }
}
