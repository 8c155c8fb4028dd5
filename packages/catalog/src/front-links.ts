/** A front's links to all routers: commands come in over them, acks go out. */

import type { Clock, Logger, Metrics, Random } from '@bigtap/kernel'
import { CodedError } from '@bigtap/kernel'
import {
  type AbuseVerdictBatch,
  type Ack,
  AHEAD_MAX,
  CALL_PREFIX,
  type Command,
  type CommandBatch,
  decodeAbuseVerdicts,
  decodeCommandBatch,
  decodeError,
  encodeAck,
  KIND,
  type Kind,
  REFUSED_MAX,
  type RefusedCommand,
} from '@bigtap/protocol'
import { createDialer, type Dialer, type Link } from '@bigtap/transport'
import { CallOnce } from './call-once.ts'
import type { LoopDelay } from './loop-delay.ts'
import type { Mirror } from './mirror.ts'

/** Who the front is, and where the routers are. */
export interface FrontLinksSettings {
  readonly service: string
  readonly nodeId: string
  readonly role: string
  readonly clusterSecret: string
  /** host:port of each; none: the front only polls. */
  readonly routers: readonly string[]
}

/** Does what a command without a document asks for. A fault is told to master with the ack. */
export type CallHandler = (name: string, args: unknown) => void

/** Collaborators. */
export interface FrontLinksParts {
  readonly mirror: Mirror
  readonly loop: Pick<LoopDelay, 'readMs'>
  readonly logger: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  readonly random: Random
  readonly onCall?: CallHandler
  /** Verdicts about abuse, as routers hand them on; passed over where nobody wants them. */
  readonly onAbuseVerdicts?: (batch: AbuseVerdictBatch) => void
  /** Makes a link; another one in a simulation. */
  readonly dial?: typeof createDialer
}

/** After a cut that lasted, a front is told what it missed within a second: 600 ms for a dial and 300 ms between two of them. */
const DIAL = { helloMs: 600, backoffBaseMs: 50, backoffMaxMs: 300 } as const
/** Routers of one platform; more are a mistake in the settings. */
const ROUTERS_MAX = 16

/**
 * ```
 *   router 1 ─┐              ┌─ documents ─► mirror.offer ─┐
 *   router 2 ─┴─ Command ────┤                             ├─► Ack, with the frame's correlation
 *                            └─ call:NAME ─► onCall, once ─┘
 *             AbuseVerdicts ──► onAbuseVerdicts
 *   the mirror has read by itself ─────────────────────────► Ack, correlation 0, to all
 * ```
 */
export class FrontLinks {
  readonly #settings: FrontLinksSettings
  readonly #parts: FrontLinksParts
  readonly #dialers: readonly Dialer[]
  readonly #calls = new CallOnce()
  readonly #positions = new Map<string, { epoch: number; upTo: number }>()
  #told = ''

  constructor(settings: FrontLinksSettings, parts: FrontLinksParts) {
    const { routers, service } = settings
    if (routers.length > ROUTERS_MAX) {
      throw new CodedError({ code: 'BAD_SETTINGS', message: `${routers.length} routers exceed ${ROUTERS_MAX}` })
    }
    this.#settings = settings
    this.#parts = parts
    this.#dialers = routers.map((address) => this.#createDialer(address))
    parts.mirror.onPulled(() => this.#tellAll())
    parts.metrics.gauge(`bigtap_${service}_router_links_count`, 'Routers that are linked', () => this.linked)
  }

  /** How many routers are linked now. */
  get linked(): number {
    return this.#dialers.filter(({ state }) => state === 'ready').length
  }

  /** For /debug/config. */
  get limits(): Readonly<Record<string, number>> {
    return { routersMax: ROUTERS_MAX, ...DIAL }
  }

  start(): void {
    for (const dialer of this.#dialers) dialer.start()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#dialers.map((dialer) => dialer.stop()))
  }

  /** Sends a frame to every router that is linked; returns how many have taken it. */
  tell(kind: Kind, body: Uint8Array): number {
    return this.#dialers.filter((dialer) => dialer.state === 'ready' && dialer.send(kind, 0, body)).length
  }

  #createDialer(address: string): Dialer {
    const { nodeId, role, clusterSecret } = this.#settings
    const { logger, metrics, clock, random, dial = createDialer } = this.#parts
    return dial(
      { address, nodeId, role, clusterSecret, ...DIAL },
      {
        ...{ logger, metrics, clock, random },
        onFrame: (link, kind, correlation, body) => this.#onFrame({ link, address }, kind, correlation, body),
        onClose: () => this.#forget(address),
      },
    )
  }

  #forget(address: string): void {
    this.#positions.delete(address)
    this.#parts.mirror.forgetLink(address)
  }

  #onFrame(from: { link: Link; address: string }, kind: Kind, correlation: number, body: Uint8Array): void {
    if (kind === KIND.command) this.#onCommands(from, correlation, decodeCommandBatch(body))
    else if (kind === KIND.abuseVerdicts) this.#parts.onAbuseVerdicts?.(decodeAbuseVerdicts(body))
    else if (kind === KIND.error) {
      this.#parts.logger.warn({ router: from.address, ...decodeError(body) }, 'a router refused a frame')
    }
  }

  #onCommands({ link, address }: { link: Link; address: string }, correlation: number, batch: CommandBatch): void {
    const mine = { ...batch, commands: batch.commands.filter((command) => this.#isMine(command)) }
    const { refused, isStale } = this.#parts.mirror.offer(mine, address)
    const faults = isStale ? [] : this.#callAll(mine)
    const { epoch, since, upTo } = batch
    this.#positions.set(address, { epoch, upTo })
    const ahead = since === upTo ? batch.commands.slice(0, AHEAD_MAX).map(({ sequence }) => sequence) : []
    this.#ack(link, correlation, { epoch, upTo, refused: [...refused, ...faults], ahead: isStale ? [] : ahead })
  }

  #isMine({ nodes }: Command): boolean {
    return nodes.length === 0 || nodes.includes(this.#settings.nodeId)
  }

  #callAll({ epoch, commands }: CommandBatch): RefusedCommand[] {
    const faults: RefusedCommand[] = []
    for (const { key, sequence, revision, body } of commands) {
      if (!key.startsWith(CALL_PREFIX) || !this.#calls.isFirst(epoch, sequence)) continue
      const error = this.#call(key.slice(CALL_PREFIX.length), body)
      if (error !== undefined) faults.push({ key, revision, error })
    }
    return faults
  }

  /** The error of a call that failed; a front that has no such call passes it over. */
  #call(name: string, body: Uint8Array): string | undefined {
    try {
      this.#parts.onCall?.(name, JSON.parse(Buffer.from(body).toString()))
      return undefined
    } catch (error) {
      this.#parts.logger.error({ call: name, error }, 'a call of master failed')
      return error instanceof Error ? error.message : String(error)
    }
  }

  #ack(link: Link, correlation: number, taken: Pick<Ack, 'epoch' | 'upTo' | 'refused' | 'ahead'>): void {
    const { mirror, loop } = this.#parts
    const { revision, digest } = mirror
    // An ack that does not go out is made up for by the next one: each says all.
    link.send(KIND.ack, correlation, encodeAck({ ...taken, revision, digest, eventLoopMs: loop.readMs() }))
  }

  /** What a reading has changed is told to all routers, once. */
  #tellAll(): void {
    const { mirror } = this.#parts
    const told = `${mirror.revision} ${mirror.digest} ${mirror.refused.length}`
    if (told === this.#told) return
    this.#told = told
    const refused = mirror.refused
      .slice(0, REFUSED_MAX)
      .map(({ key, revision, errors }) => ({ key, revision, error: errors.join('; ') }))
    for (const { address, link } of this.#dialers) {
      const { epoch, upTo } = this.#positions.get(address) ?? { epoch: 0, upTo: 0 }
      if (link !== undefined) this.#ack(link, 0, { epoch, upTo, refused, ahead: [] })
    }
  }
}
