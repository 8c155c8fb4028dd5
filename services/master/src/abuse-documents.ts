/**
 * The documents by which antiblack judges: rules and model. Versions, dry run, trial, publication, and the way back.
 *
 * ```
 *   PUT ─► checked whole ─► tried by one limiter and one Middle ─► stored as a version ─► published ─► every front
 *          all errors said      refused: nothing happened          DELETE: the built-in one is in force again
 * ```
 */

import type { AuditEntry } from '@bigtap/db'
import { ABUSE_MODEL_KEY, ABUSE_RULES_KEY, DEFAULT_ABUSE_RULES, Fields } from '@bigtap/domain'
import type { DocumentChange } from '@bigtap/store'
import type { CatalogPublisher } from './catalog-publisher.ts'
import { checkDocument } from './core/document-check.ts'
import { DocumentHistory, type HistoryParts, type Version } from './document-history.ts'
import { Problem } from './http/edge.ts'
import type { Actor } from './http/session.ts'
import { unwrap } from './sale-desk.ts'
import type { How, SaleTrial } from './sale-trial.ts'

/** Which of them. */
export type AbuseDocumentName = 'rules' | 'model'
/** All of them. */
export const ABUSE_DOCUMENTS: readonly AbuseDocumentName[] = ['rules', 'model']

/** Collaborators. */
export interface AbuseDocumentParts extends HistoryParts {
  readonly publisher: Pick<CatalogPublisher, 'queue' | 'flush'>
  readonly trial: Pick<SaleTrial, 'tryDocuments'>
  /** Written before the effect; rejects when PostgreSQL is away. */
  audit(entry: AuditEntry): Promise<void>
}

type Doc = Readonly<Record<string, unknown>>
/** A version; without a document the built-in one is in force. */
export type AbuseVersion = Version<{ readonly doc: Doc | null }>

const KEYS: Readonly<Record<AbuseDocumentName, string>> = { rules: ABUSE_RULES_KEY, model: ABUSE_MODEL_KEY }
/** Errors that are said of one document. */
const ERRORS_MAX = 100

/** The desk of both. Its owner runs one change at a time. */
export class AbuseDocuments {
  readonly #parts: AbuseDocumentParts
  readonly #history: DocumentHistory<{ readonly doc: Doc | null }>
  readonly #newest = new Map<AbuseDocumentName, AbuseVersion>()

  constructor(parts: AbuseDocumentParts) {
    this.#parts = parts
    this.#history = new DocumentHistory('abuse', parts)
  }

  /** Takes what is stored; rejects when PostgreSQL is away. */
  async load(): Promise<void> {
    const histories = await Promise.all(ABUSE_DOCUMENTS.map((name) => this.#history.list(name)))
    for (const [index, name] of ABUSE_DOCUMENTS.entries()) {
      const newest = histories[index]?.at(-1)
      if (newest !== undefined) this.#newest.set(name, newest)
    }
  }

  /** What the fronts should have. */
  documents(): DocumentChange[] {
    return [...this.#newest].map(([name, { doc }]) => ({ key: KEYS[name], body: doc }))
  }

  /** The newest version; version 0 while there was none: the built-in one is in force. */
  newest(name: AbuseDocumentName): AbuseVersion {
    return this.#newest.get(name) ?? { version: 0, at: 0, actor: '', doc: null }
  }

  /** The newest version, and the built-in rules where they are in force, to begin with. antiblack has a model of its own. */
  shown(name: AbuseDocumentName) {
    const version = this.newest(name)
    return name === 'rules' && version.doc === null ? { ...version, builtIn: DEFAULT_ABUSE_RULES } : version
  }

  /** What was in force when, by whom; the documents themselves are large and left out. */
  async versions(name: AbuseDocumentName) {
    const versions = await this.#history.list(name)
    return versions.map(({ doc, ...version }) => ({ ...version, isBuiltIn: doc === null, bytes: bytesOf(doc) }))
  }

  /** What is wrong with a document, without storing it. */
  dryRun(name: AbuseDocumentName, input: Doc) {
    const errors = errorsOf(name, this.#numbered(name, input))
    return { isAllowed: errors.length === 0, errors, bytes: bytesOf(input) }
  }

  /** Makes a document the newest version, and publishes it. Its number is given here, whatever it says. */
  async set(actor: Actor, name: AbuseDocumentName, input: Doc, how: How = {}) {
    const doc = this.#numbered(name, input)
    const errors = errorsOf(name, doc)
    if (errors.length > 0) throw new Problem('bad_request', { errors })
    const warning = await this.#parts.trial.tryDocuments(actor, subjectOf(name), [{ key: KEYS[name], body: doc }], how)
    return { ...(await this.#put(actor, name, doc, 'set')), ...(warning === undefined ? {} : { warning }) }
  }

  /** Makes an earlier version the newest one. */
  async rollback(actor: Actor, name: AbuseDocumentName, input: Doc, how: How = {}) {
    const fields = new Fields(input)
    const { version } = unwrap(fields.done({ version: fields.number('version', { min: 1, max: 2 ** 31 }) }))
    const found = (await this.#history.list(name)).find((one) => one.version === version)
    if (found === undefined) throw new Problem('not_found', { detail: `there is no version ${version}` })
    return found.doc === null ? this.remove(actor, name) : this.set(actor, name, found.doc, how)
  }

  /** The built-in one is in force again. */
  remove(actor: Actor, name: AbuseDocumentName) {
    return this.#put(actor, name, null, 'remove')
  }

  async #put(actor: Actor, name: AbuseDocumentName, doc: Doc | null, verb: 'set' | 'remove') {
    const { audit, publisher, clock } = this.#parts
    const before = this.newest(name)
    await audit({
      ...{ actor: actor.name, role: actor.role, action: `abuse.${verb}`, subject: subjectOf(name) },
      ...{ before: shown(before), after: { version: before.version + 1, bytes: bytesOf(doc) } },
    })
    const at = clock.now()
    const version = await this.#history.add(name, { doc }, actor.name)
    this.#newest.set(name, { version, at, actor: actor.name, doc })
    publisher.queue([{ key: KEYS[name], body: doc }])
    await publisher.flush().catch(() => undefined) // it stays queued, and goes out when Redis is back
    return { version, at, actor: actor.name, isBuiltIn: doc === null, bytes: bytesOf(doc) }
  }

  #numbered(name: AbuseDocumentName, input: Doc): Doc {
    return { ...input, version: this.newest(name).version + 1 }
  }
}

function errorsOf(name: AbuseDocumentName, doc: Doc): string[] {
  return checkDocument(KEYS[name], doc).slice(0, ERRORS_MAX)
}

function subjectOf(name: AbuseDocumentName): string {
  return KEYS[name]
}

function shown({ version, doc }: AbuseVersion) {
  return { version, isBuiltIn: doc === null, bytes: bytesOf(doc) }
}

function bytesOf(doc: Doc | null): number {
  return doc === null ? 0 : Buffer.byteLength(JSON.stringify(doc))
}
