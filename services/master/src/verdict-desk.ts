/** Verdicts about abuse as operators see and give them: on the board, and at once to every router. */

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AuditEntry } from '@bigtap/db'
import { type AbuseVerdict, Fields, subjectOf } from '@bigtap/domain'
import type { Producer } from '@bigtap/eventlog'
import type { Clock, Logger } from '@bigtap/kernel'
import { encodeAbuseVerdicts } from '@bigtap/protocol'
import type { AbuseBoard, AnswerBox } from '@bigtap/store'
import { readSubject, readVerdictWish, type Subject, WISH_LIMITS } from './core/verdict-input.ts'
import { onRedis } from './faults.ts'
import { Problem } from './http/edge.ts'
import type { Actor } from './http/session.ts'
import type { NodeWatch } from './node-watch.ts'
import type { RouterLinks } from './router-links.ts'
import { unwrap } from './sale-desk.ts'

/** Collaborators. */
export interface VerdictDeskParts {
  readonly board: Pick<AbuseBoard, 'say' | 'get' | 'head' | 'since' | 'page'>
  readonly answers: Pick<AnswerBox, 'read'>
  readonly links: Pick<RouterLinks, 'call' | 'tell'>
  readonly watch: Pick<NodeWatch, 'list'>
  /** Topic `verdicts`; antiblack writes its own there. */
  readonly verdictTopic?: Producer
  readonly clock: Clock
  readonly logger: Logger
  /** Written before the effect; rejects when PostgreSQL is away. */
  audit(entry: AuditEntry): Promise<void>
}

/** Which verdicts are asked for, and where to go on. */
export interface VerdictQuery {
  /** Only this one. */
  readonly subject?: string
  readonly kind?: string
  readonly tier?: number
  readonly by?: string
  readonly isShadow?: boolean
  readonly cursor?: string
  readonly limit: number
}

/** What a process of antiblack says of a subject now. */
export interface LiveExplanation {
  readonly nodeId: string
  readonly at: number
  readonly explanation: unknown
}

/** Limits of the desk. */
export const VERDICT_LIMITS = {
  listMax: 500,
  /** Verdicts that one call looks at; the cursor goes on from there. */
  scannedMax: 20_000,
  historyMax: 20,
  /** Newest entries of the log in which a subject's history is looked for. */
  historyDepth: 5_000,
  liveMs: 400,
  liveAsksMax: 4,
} as const

/** Name of the call that antiblack answers; its arguments are `{ askId, subject }`. */
export const EXPLAIN_CALL = 'explain-abuse'
const LOOK_MS = 25
const HISTORY_PAGE = 1_000
/** A verdict of an account with this name would pass for the machine's. */
const MACHINE = 'antiblack'

/** The desk. */
export class VerdictDesk {
  readonly #parts: VerdictDeskParts
  #asking = 0

  constructor(parts: VerdictDeskParts) {
    this.#parts = parts
  }

  /** Verdicts in force, in no order; `cursor` is there while there may be more. */
  async list(query: VerdictQuery) {
    const { board, clock } = this.#parts
    if (query.subject !== undefined) return { verdicts: await this.#only(query.subject, query) }
    const verdicts: AbuseVerdict[] = []
    let cursor = query.cursor ?? '0'
    let scanned = 0
    do {
      const page = await onRedis(() => board.page(cursor, Math.min(query.limit, VERDICT_LIMITS.listMax)))
      cursor = page.cursor
      scanned += page.verdicts.length + 1
      verdicts.push(...page.verdicts.filter((verdict) => isMeant(verdict, query, clock.now())))
    } while (cursor !== '0' && verdicts.length < query.limit && scanned < VERDICT_LIMITS.scannedMax)
    return { verdicts, ...(cursor === '0' ? {} : { cursor }) }
  }

  /** The verdict in force, what was said of the subject lately, and what antiblack makes of it now. */
  async explain(name: string) {
    const subject = subjectOf(unwrap(readSubject(name)))
    const { board } = this.#parts
    const [verdict, history, live] = await Promise.all([
      onRedis(() => board.get(subject)),
      onRedis(() => this.#historyOf(subject)),
      this.#askAll(subject),
    ])
    return { subject, verdict: verdict ?? null, history, ...live }
  }

  /** Gives a verdict; it replaces the one that stands, and no machine replaces it. */
  async add(actor: Actor, input: unknown): Promise<AbuseVerdict> {
    const { minutes, ...said } = unwrap(readVerdictWish(input))
    const at = this.#parts.clock.now()
    const verdict = { ...said, id: newId(), score: 1, at, expiresAt: at + minutes * 60_000, by: authorOf(actor) }
    const before = await onRedis(() => this.#parts.board.get(subjectOf(verdict)))
    await this.#audit(actor, 'verdict.add', before, verdict)
    await this.#say(verdict)
    return verdict
  }

  /** Ends the verdict in force; antiblack leaves the subject alone for a while. */
  async lift(actor: Actor, name: string, input: unknown = {}): Promise<AbuseVerdict> {
    const { kind, key } = unwrap(readSubject(name))
    const fields = new Fields(input)
    const { reason } = unwrap(fields.done({ reason: fields.text('reason', WISH_LIMITS.reasonChars, 'lifted') }))
    const before = await onRedis(() => this.#parts.board.get(subjectOf({ kind, key })))
    if (before === undefined) throw new Problem('not_found', { detail: 'there is no verdict in force' })
    const at = this.#parts.clock.now()
    const lift = { kind, key, reason, tier: 0, score: 0, isShadow: false } as const
    const verdict = { ...lift, id: newId(), at, expiresAt: at, by: authorOf(actor) }
    await this.#audit(actor, 'verdict.lift', before, verdict)
    await this.#say(verdict)
    return before
  }

  async #only(name: string, query: VerdictQuery): Promise<AbuseVerdict[]> {
    const subject = subjectOf(unwrap(readSubject(name)))
    const found = await onRedis(() => this.#parts.board.get(subject))
    return found !== undefined && isMeant(found, query, this.#parts.clock.now()) ? [found] : []
  }

  async #say(verdict: AbuseVerdict): Promise<void> {
    const { board, links, verdictTopic, logger } = this.#parts
    const from = await onRedis(() => board.say([verdict]))
    const value = encodeAbuseVerdicts({ from, verdicts: [verdict] })
    links.tell(value) // who does not hear it reads the board
    verdictTopic
      ?.send('verdicts', [{ key: subjectOf(verdict), value }])
      .catch((error: unknown) =>
        logger.warn({ error, id: verdict.id }, 'a verdict is not in the log, only in the audit'),
      )
  }

  async #audit(actor: Actor, action: string, before: AbuseVerdict | undefined, after: AbuseVerdict): Promise<void> {
    const subject = `verdict:${maskedOf(after)}`
    const { name, role } = actor
    await this.#parts.audit({ actor: name, role, action, subject, before: shown(before), after: shown(after) })
  }

  async #historyOf(subject: string): Promise<AbuseVerdict[]> {
    const { board } = this.#parts
    const head = await board.head()
    const found: AbuseVerdict[] = []
    let at = Math.max(0, head - VERDICT_LIMITS.historyDepth)
    while (at < head) {
      const said = await board.since(at, HISTORY_PAGE)
      if (said === undefined || said.verdicts.length === 0) at += HISTORY_PAGE
      else {
        found.push(...said.verdicts.filter((verdict) => subjectOf(verdict) === subject))
        at = said.from + said.verdicts.length
      }
    }
    return found.slice(-VERDICT_LIMITS.historyMax).reverse()
  }

  /** Asks every process of antiblack that is linked, and waits a moment for what they say. */
  async #askAll(subject: string): Promise<{ live: LiveExplanation[]; asked: string[] }> {
    const { links, watch } = this.#parts
    const nodes = watch.list().filter(({ role, isLinked }) => role === 'antiblack' && isLinked)
    if (nodes.length === 0 || this.#asking >= VERDICT_LIMITS.liveAsksMax) return { live: [], asked: [] }
    this.#asking++
    try {
      const askId = newId()
      links.call(EXPLAIN_CALL, { askId, subject })
      return { live: await this.#answersTo(askId, nodes.length), asked: nodes.map(({ id }) => id) }
    } finally {
      this.#asking--
    }
  }

  async #answersTo(askId: string, count: number): Promise<LiveExplanation[]> {
    const { answers, clock, logger } = this.#parts
    const until = clock.monotonic() + VERDICT_LIMITS.liveMs
    let texts: string[] = []
    do {
      await sleep(LOOK_MS)
      texts = await answers.read(askId).catch((error: unknown) => {
        logger.debug({ error }, 'explanations could not be read')
        return texts
      })
    } while (texts.length < count && clock.monotonic() < until)
    return texts.flatMap((text) => parseAnswer(text))
  }
}

function isMeant(verdict: AbuseVerdict, { kind, tier, by, isShadow }: VerdictQuery, now: number): boolean {
  return (
    verdict.expiresAt > now &&
    (kind === undefined || verdict.kind === kind) &&
    (tier === undefined || verdict.tier === tier) &&
    (by === undefined || verdict.by === by) &&
    (isShadow === undefined || verdict.isShadow === isShadow)
  )
}

function parseAnswer(text: string): LiveExplanation[] {
  try {
    const { nodeId, at, explanation } = JSON.parse(text) as LiveExplanation
    return [{ nodeId: String(nodeId), at: Number(at), explanation }]
  } catch {
    return [] // not of ours
  }
}

function authorOf({ name }: Actor): string {
  return name === MACHINE ? `account ${MACHINE}` : name
}

function newId(): string {
  return randomBytes(8).toString('hex')
}

/** The audit names no whole uid; the verdict's id finds it while it is in the log. */
function maskedOf({ kind, key }: Subject): string {
  return kind === 'uid' ? `uid:…${key.slice(-3)}` : `${kind}:${key}`
}

function shown(verdict: AbuseVerdict | undefined) {
  if (verdict === undefined) return undefined
  const { key: _key, ...rest } = verdict
  return rest
}
