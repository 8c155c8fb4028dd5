/** The links to all routers: what was published goes to each of them, and their reports of acks come back. */

import type { Clock, Logger, Metrics, Random } from '@bigtap/kernel'
import { decodeAckReport, encodeCommandBatches, KIND } from '@bigtap/protocol'
import { createDialer, type Dialer, type Link } from '@bigtap/transport'
import { CommandLog, type LinkBatch, type PublishedChange } from './core/command-log.ts'
import { NodeAcks } from './core/node-acks.ts'

/** Whom to dial, as whom, and the epoch of our leadership. */
export interface RouterSettings {
  readonly routers: readonly string[]
  readonly nodeId: string
  readonly clusterSecret: string
  readonly epoch: number
}

/** Collaborators. `head()` is the newest revision of the catalog that we know. */
export interface RouterParts {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: Metrics
  /** Makes a link; another one in a simulation. */
  readonly dial?: typeof createDialer
  head(): number
  mayAct(): boolean
}

/** One epoch's links. */
export class RouterLinks {
  readonly acks = new NodeAcks()
  readonly #epoch: number
  readonly #parts: RouterParts
  readonly #log: CommandLog
  readonly #dialers: Dialer[]
  readonly #listeners: (() => void)[] = []

  constructor({ routers, epoch, nodeId, clusterSecret }: RouterSettings, parts: RouterParts) {
    this.#epoch = epoch
    this.#parts = parts
    this.#log = new CommandLog(epoch)
    this.#dialers = routers.map((address) =>
      (parts.dial ?? createDialer)(
        { address, nodeId, clusterSecret, role: 'master' },
        {
          ...parts,
          onLink: () => this.#greet(address),
          onClose: () => this.#onClose(address),
          onFrame: (link, kind, _correlation, body) => {
            if (kind === KIND.ackReport) this.#onReport(address, link, body)
          },
        },
      ),
    )
  }

  /** Links that are ready. */
  get ready(): number {
    return this.#dialers.filter(({ state }) => state === 'ready').length
  }

  start(): void {
    for (const dialer of this.#dialers) dialer.start()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#dialers.map((dialer) => dialer.stop()))
  }

  /** Called after each report, and when a router is lost. */
  onAcks(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Tells every router what was published as one revision. */
  publish(changes: readonly PublishedChange[], revision: number): void {
    const commands = this.#log.published(changes, revision)
    for (const dialer of this.#dialers) this.#send(dialer, this.#log.next(dialer.address, commands, this.#parts.head()))
  }

  /** Gives some nodes documents that are not published, or with a null body ends that; returns the last sequence. */
  trial(documents: readonly { key: string; body: unknown }[], nodes: readonly string[]): number {
    const commands = this.#log.trial(documents, this.#parts.head(), nodes)
    for (const dialer of this.#dialers)
      this.#send(dialer, this.#log.ahead(dialer.address, commands, this.#parts.head()))
    return this.#log.sequence
  }

  /** Calls all nodes, once each; a node without a link is not called. */
  call(name: string, args: unknown): void {
    const commands = this.#log.call(name, args, this.#parts.head())
    for (const dialer of this.#dialers)
      this.#send(dialer, this.#log.ahead(dialer.address, commands, this.#parts.head()))
  }

  /** Tells every router of verdicts (frame `abuseVerdicts`); one that is not linked is made up for by the board. */
  tell(verdicts: Uint8Array): void {
    if (this.#parts.mayAct()) for (const dialer of this.#dialers) dialer.send(KIND.abuseVerdicts, 0, verdicts)
  }

  /** Has a node taken the command with this sequence? */
  hasTaken(nodeId: string, sequence: number): boolean {
    return this.acks.hasTaken(nodeId, this.#epoch, sequence)
  }

  #greet(address: string): void {
    const dialer = this.#dialers.find((one) => one.address === address)
    if (dialer !== undefined) this.#send(dialer, this.#log.greet(address, this.#parts.head()))
  }

  #send(dialer: Dialer, batch: LinkBatch | undefined): void {
    if (batch === undefined || dialer.state !== 'ready' || !this.#parts.mayAct()) return
    for (const body of encodeCommandBatches(batch)) {
      if (dialer.send(KIND.command, 0, body)) continue
      // It reads too slowly: the gap makes it read the catalog.
      this.#parts.logger.warn({ router: dialer.address, commands: batch.commands.length }, 'a router was not told')
      return
    }
  }

  #onReport(router: string, { clockOffsetMs, roundTripMs }: Link, body: Uint8Array): void {
    const from = { router, clockOffsetMs, roundTripMs, now: this.#parts.clock.monotonic() }
    this.acks.onReport(decodeAckReport(body).nodes, from)
    for (const listener of this.#listeners) listener()
  }

  #onClose(router: string): void {
    this.#log.forget(router)
    this.acks.onRouterLost(router)
    for (const listener of this.#listeners) listener()
  }
}
