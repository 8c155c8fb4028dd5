/** The last versions of documents, kept in the settings: what was in force when, by whom, and the way back to it. */

import type { Db } from '@bigtap/db'
import type { Clock } from '@bigtap/kernel'

/** One version: what it says, and who made it when. */
export type Version<T extends object> = T & {
  readonly version: number
  readonly at: number
  readonly actor: string
}

/** Collaborators. */
export interface HistoryParts {
  readonly db: Pick<Db, 'definitions'>
  readonly clock: Clock
}

/** Versions that are kept of one document; the oldest falls. */
export const VERSIONS_MAX = 20

/** Versions of documents of one kind; the kind begins the setting's name. */
export class DocumentHistory<T extends object> {
  readonly #kind: string
  readonly #parts: HistoryParts

  constructor(kind: string, parts: HistoryParts) {
    this.#kind = kind
    this.#parts = parts
  }

  /** Oldest first. */
  async list(name: string): Promise<Version<T>[]> {
    const value = await this.#parts.db.definitions.getSetting(this.#settingOf(name))
    return Array.isArray(value) ? (value as Version<T>[]) : []
  }

  /** Adds a version; returns its number. */
  async add(name: string, said: T, actor: string): Promise<number> {
    const versions = await this.list(name)
    const version = (versions.at(-1)?.version ?? 0) + 1
    const next = [...versions, { version, at: this.#parts.clock.now(), actor, ...said }].slice(-VERSIONS_MAX)
    await this.#parts.db.definitions.setSetting(this.#settingOf(name), next)
    return version
  }

  #settingOf(name: string): string {
    return `${this.#kind}:${name}`
  }
}
