/** The gate at work: tries documents on the canaries over the routers, one trial at a time, and says what became of it. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock, Logger } from '@bigtap/kernel'
import type { Alarms } from './core/alarms.ts'
import {
  CANARY_ROLES,
  type Canary,
  type CanaryWord,
  chooseCanaries,
  type GateCommand,
  type GateDocument,
  type GateEvent,
  type GateState,
  IDLE,
  stepGate,
} from './core/gate.ts'
import type { NodeWatch } from './node-watch.ts'
import type { RouterLinks } from './router-links.ts'

/** Collaborators. */
export interface ConfigGateParts {
  readonly links: RouterLinks
  readonly watch: Pick<NodeWatch, 'list'>
  readonly alarms: Alarms
  readonly clock: Clock
  readonly logger: Logger
}

/** What became of a trial. `warning`: it passed without every canary. */
export type GateResult =
  | { readonly isPassed: true; readonly warning?: string }
  | { readonly isPassed: false; readonly reason: string; readonly isSlow: boolean }

/** Between the acks the gate is looked at this often, ms. */
const LOOK_MS = 20
/** A canary has this many looks to say how slow it is, before it is tried. */
const LOOKS_MAX = 25
/** A node tells its longest delay of the last one or two seconds. */
const CLEAR_MS = 2_200
const ALARM = 'gate'

interface Trial {
  readonly canaries: readonly Canary[]
  /** The trial's last command. */
  sequence: number
  state: GateState
  readonly end: (result: GateResult) => void
}

/** The gate. Its caller awaits one trial before the next. */
export class ConfigGate {
  readonly #parts: ConfigGateParts
  #trial: Trial | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(parts: ConfigGateParts) {
    this.#parts = parts
    parts.links.onAcks(() => this.#hear())
  }

  /**
   * Tries the documents; resolves within 6 s, mostly in 0.3 s, rejects never. Canaries that were slow try once more: no other
   * nodes, so that what makes them slow stays with them.
   */
  async try(documents: readonly GateDocument[]): Promise<GateResult> {
    const { links, watch } = this.#parts
    const nodes = watch.list()
    const canaries = links.ready === 0 ? [] : chooseCanaries(nodes)
    const missing = CANARY_ROLES.filter(
      (role) => !nodes.some((node) => node.role === role && canaries.some(({ nodeId }) => nodeId === node.id)),
    )
    if (documents.length === 0) return { isPassed: true }
    const first = await this.#run(documents, await this.#look(documents, canaries))
    const result = !first.isPassed && first.isSlow ? await this.#again(documents, canaries) : first
    this.#say(documents, result)
    if (!result.isPassed || missing.length === 0) return result
    const warning = `not tried by a ${missing.join(' or a ')}: none is linked`
    this.#parts.logger.warn({ keys: documents.slice(0, 20).map(({ key }) => key) }, warning)
    return { isPassed: true, warning }
  }

  /** After the window in which a node tells its longest delay: what was slow by itself is quick again. */
  async #again(documents: readonly GateDocument[], canaries: readonly Canary[]): Promise<GateResult> {
    await sleep(CLEAR_MS)
    return this.#run(documents, await this.#look(documents, canaries))
  }

  /** How slow the canaries are before: the end of a trial that there is not makes them say so. */
  async #look(documents: readonly GateDocument[], canaries: readonly Canary[]): Promise<Canary[]> {
    const { links } = this.#parts
    const ids = canaries.map(({ nodeId }) => nodeId)
    if (ids.length === 0) return []
    const ends = documents.slice(0, 1).map(({ key }) => ({ key, body: null }))
    const sequence = links.trial(ends, ids)
    for (let looked = 0; looked < LOOKS_MAX && !ids.every((id) => links.hasTaken(id, sequence)); looked++)
      await sleep(LOOK_MS)
    return ids.map((nodeId) => ({ nodeId, eventLoopMs: links.acks.get(nodeId)?.eventLoopMs ?? 0 }))
  }

  /** A trial that is under way when the reign ends has failed. */
  stop(): void {
    this.#trial?.end({ isPassed: false, reason: 'this master does not lead any more', isSlow: false })
  }

  #run(documents: readonly GateDocument[], canaries: readonly Canary[]): Promise<GateResult> {
    return new Promise((resolve) => {
      const end = (result: GateResult) => {
        clearInterval(this.#timer)
        this.#trial = undefined
        resolve(result)
      }
      this.#trial = { canaries, sequence: 0, state: IDLE, end }
      this.#timer = setInterval(() => this.#hear(), LOOK_MS)
      this.#step({ type: 'begin', documents, canaries })
    })
  }

  #hear(): void {
    const trial = this.#trial
    if (trial === undefined || trial.state.name === 'idle') return
    this.#step({ type: 'words', words: trial.canaries.map(({ nodeId }) => this.#wordOf(nodeId, trial.sequence)) })
  }

  #wordOf(nodeId: string, sequence: number): CanaryWord | undefined {
    const { links } = this.#parts
    const ack = links.acks.get(nodeId)
    if (ack === undefined) return undefined
    return { nodeId, hasTaken: links.hasTaken(nodeId, sequence), refused: ack.refused, eventLoopMs: ack.eventLoopMs }
  }

  #step(event: GateEvent): void {
    const trial = this.#trial
    if (trial === undefined) return
    const [state, commands] = stepGate(trial.state, event, this.#parts.clock.monotonic())
    trial.state = state
    for (const command of commands) this.#obey(trial, command)
  }

  #obey(trial: Trial, command: GateCommand): void {
    const { links } = this.#parts
    if (command.type === 'try') trial.sequence = links.trial(command.documents, command.canaries)
    else if (command.type === 'undo')
      links.trial(
        command.keys.map((key) => ({ key, body: null })),
        command.canaries,
      )
    else trial.end(command.type === 'pass' ? { isPassed: true } : { ...command, isPassed: false })
  }

  #say(documents: readonly GateDocument[], result: GateResult): void {
    const { alarms, clock, logger } = this.#parts
    const keys = documents.slice(0, 20).map(({ key }) => key)
    if (result.isPassed) {
      alarms.clear(ALARM, clock.now())
      return
    }
    const { reason } = result
    logger.error({ keys, reason }, 'a change failed its trial and is not published')
    const message = `a change failed its trial and is not published: ${reason}`
    alarms.raise({ key: ALARM, severity: 'warning', message, data: { keys, reason } }, clock.now())
  }
}
