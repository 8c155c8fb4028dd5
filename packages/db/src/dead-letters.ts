import { guarded } from './errors.ts'
import type { PrismaClient } from './generated/client.ts'
import { toNumber } from './numbers.ts'

/** A record of the log that could not be handled: where it stood, what it was, why it failed. */
export interface DeadLetter {
  readonly topic: string
  readonly partition: number
  readonly position: string
  readonly key: string
  readonly value: Uint8Array
  readonly error: string
  readonly tries: number
}

/** A dead letter as it is stored. */
export interface DeadLetterRow extends DeadLetter {
  readonly id: number
  readonly at: number
}

/** What operators look at when a record was given up. */
export interface DeadLetters {
  /** Keeps a record, once for each place of the log. */
  add(letter: DeadLetter): Promise<void>
  /** The newest first; the next page starts before the last id of this one. */
  list(options?: { before?: number; limit?: number }): Promise<DeadLetterRow[]>
  count(): Promise<number>
}

const LIST_MAX = 1_000
/** Longer ones are cut: an error's text may hold the whole record. */
const ERROR_LENGTH_MAX = 2_000

/** The repository of dead letters. */
export function createDeadLetters(prisma: PrismaClient, now: () => number): DeadLetters {
  return {
    async add(letter) {
      // PostgreSQL's text holds no NUL, and a poison record may well have one in its key or in its error.
      const data = {
        ...letter,
        key: printable(letter.key),
        error: printable(letter.error).slice(0, ERROR_LENGTH_MAX),
        value: Uint8Array.from(letter.value),
        at: now(),
      }
      await guarded('storing a dead letter', () => prisma.deadLetter.createMany({ data: [data], skipDuplicates: true }))
    },
    async list({ before = Number.MAX_SAFE_INTEGER, limit = 100 } = {}) {
      const take = Math.min(Math.max(1, Math.floor(limit)), LIST_MAX)
      const query = { where: { id: { lt: before } }, orderBy: { id: 'desc' }, take } as const
      const rows = await guarded('listing dead letters', () => prisma.deadLetter.findMany(query))
      return rows.map((row) => ({ ...row, id: toNumber(row.id), at: toNumber(row.at) }))
    },
    count: () => guarded('counting dead letters', () => prisma.deadLetter.count()),
  }
}

function printable(text: string): string {
  return Buffer.from(text.replaceAll('\0', '\\0')).toString() // half surrogates become U+FFFD
}
