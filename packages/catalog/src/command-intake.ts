/** Commands that came over a link, into the documents: what is newer is applied, the rest passed over. Pure. */

import { CALL_PREFIX, type Command, type CommandBatch, type RefusedCommand } from '@bigtap/protocol'
import { documentHash } from '@bigtap/store'
import type { Applied, Documents, IncomingDocument } from './documents.ts'
import { LinkProgress } from './link-progress.ts'

/** What a batch led to. */
export interface Intake {
  readonly changed: readonly string[]
  readonly refused: readonly RefusedCommand[]
  /** `stale`: of a deposed leader, nothing was taken. `missed`: read the catalog. `behind`: compare with it. */
  readonly outcome: 'stale' | 'missed' | 'behind' | 'complete'
  /** Every document up to this revision has come; 0 when that cannot be said. */
  readonly revision: number
}

/** A trial that nothing follows is undone after this: a leader that died while it tried leaves nothing behind. */
export const TRIAL_MS = 3_000
/** Links that are followed; the one that was silent longest is forgotten, and begins with a gap. */
const LINKS_MAX = 64
/** Keys whose newest trial is remembered, so that a late copy of an older one is passed over. */
const TRIED_MAX = 256

/** The intake of one front. */
export class CommandIntake {
  readonly #documents: Documents
  readonly #links = new Map<string, LinkProgress>()
  readonly #tried = new Map<string, number>()
  #epoch = 0

  constructor(documents: Documents) {
    this.#documents = documents
  }

  /** The highest that was seen. */
  get epoch(): number {
    return this.#epoch
  }

  /** Takes the batch that came over the link `via`; `now` is monotonic, ms. */
  take(batch: CommandBatch, via: string, now: number): Intake {
    // Epoch 0 is a router that knows nothing yet; it carries no commands.
    if (batch.epoch !== 0 && batch.epoch < this.#epoch) {
      return { changed: [], refused: [], outcome: 'stale', revision: 0 }
    }
    if (batch.epoch > this.#epoch) this.#tried.clear()
    this.#epoch = Math.max(this.#epoch, batch.epoch)
    const changed: string[] = []
    const refused: RefusedCommand[] = []
    for (const command of batch.commands) {
      const { applied, errors } = this.#takeOne(command, now)
      if (applied === 'applied') changed.push(command.key)
      if (applied === 'refused')
        refused.push({ key: command.key, revision: command.revision, error: errors.join('; ') })
    }
    const progress = this.#linkOf(via).take(batch, this.#documents.revision)
    const revision = Math.max(this.#documents.revision, progress.revision)
    return { changed, refused, outcome: outcomeOf(batch, progress.isGap, revision), revision: progress.revision }
  }

  /** The link has ended: its successor begins anew. */
  forget(via: string): void {
    this.#links.delete(via)
  }

  #takeOne(command: Command, now: number): { applied: Applied; errors: readonly string[] } {
    const { key, isTrial, isPull } = command
    if (isPull || key.startsWith(CALL_PREFIX)) return IGNORED
    if (isTrial) return this.#takeTrial(command, now)
    const applied = this.#documents.apply(documentOf(command))
    return { applied, errors: applied === 'refused' ? (this.#documents.refusal(key)?.errors ?? []) : [] }
  }

  #takeTrial(command: Command, now: number): { applied: Applied; errors: readonly string[] } {
    const { key, sequence, isDeleted } = command
    if ((this.#tried.get(key) ?? 0) >= sequence) return IGNORED
    const [oldest] = this.#tried.keys()
    if (oldest !== undefined && this.#tried.size >= TRIED_MAX) this.#tried.delete(oldest)
    this.#tried.delete(key)
    this.#tried.set(key, sequence)
    if (!isDeleted) return this.#documents.try(documentOf(command), now + TRIAL_MS)
    return { applied: this.#documents.endTrial(key) ? 'applied' : 'ignored', errors: [] }
  }

  #linkOf(via: string): LinkProgress {
    const link = this.#links.get(via) ?? new LinkProgress()
    const [oldest] = this.#links.keys()
    if (oldest !== undefined && !this.#links.has(via) && this.#links.size >= LINKS_MAX) this.#links.delete(oldest)
    this.#links.delete(via)
    this.#links.set(via, link)
    return link
  }
}

const IGNORED = { applied: 'ignored', errors: [] } as const

function outcomeOf(batch: CommandBatch, isGap: boolean, revision: number): Intake['outcome'] {
  const { commands, head, since, upTo } = batch
  if (isGap || commands.some(({ isPull }) => isPull)) return 'missed'
  // What came ahead of the others closes nothing; the others are on their way.
  const isAhead = since === upTo && commands.length > 0
  return head > revision && !isAhead ? 'behind' : 'complete'
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function documentOf({ key, revision, body, isDeleted }: Command): IncomingDocument {
  if (isDeleted) return { key, revision, body: null }
  try {
    const text = utf8.decode(body)
    return { key, revision, body: parseJson(text), hash: documentHash(key, body), bytes: body.length }
  } catch {
    return { key, revision, body: undefined, bytes: body.length } // no UTF-8: refused as no JSON
  }
}

/** A document `null` is refused, not taken for a deletion. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) ?? undefined
  } catch {
    return undefined
  }
}
