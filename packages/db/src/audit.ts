import { guarded } from './errors.ts'
import { Prisma, type PrismaClient } from './generated/client.ts'
import { toNumber } from './numbers.ts'

/** A change that a person or a service made; `before` and `after` are JSON values, absent where there was nothing. */
export interface AuditEntry {
  readonly actor: string
  readonly role: string
  readonly action: string
  /** What was changed: `activity:7`, `sku:7:3` … */
  readonly subject: string
  readonly before?: unknown
  readonly after?: unknown
}

/** An entry as it is stored. */
export interface AuditRow extends AuditEntry {
  readonly id: number
  readonly at: number
}

/** What is looked for in the audit. `subject` also finds what lies below it (`activity:7` not, `sku:7` finds `sku:7:3`). */
export interface AuditQuery {
  readonly subject?: string
  readonly actor?: string
  readonly action?: string
  /** Entries at or after this time, ms. */
  readonly from?: number
  /** Entries before this time, ms. */
  readonly to?: number
  /** The next page starts before the last id of this one. */
  readonly before?: number
  readonly limit?: number
}

/** Who changed what, when. Entries are never changed. */
export interface Audit {
  append(entry: AuditEntry): Promise<void>
  /** The newest first. */
  list(query?: AuditQuery): Promise<AuditRow[]>
}

const LIST_MAX = 1_000

/** The repository of audit entries. */
export function createAudit(prisma: PrismaClient, now: () => number): Audit {
  return {
    async append(entry) {
      await guarded('writing the audit', () => appendAudit(prisma, now(), entry))
    },
    async list({ subject, actor, action, from, to, before = Number.MAX_SAFE_INTEGER, limit = 100 } = {}) {
      const where = {
        ...{ id: { lt: before }, ...given({ actor, action }) },
        ...(subject === undefined ? {} : { OR: [{ subject }, { subject: { startsWith: `${subject}:` } }] }),
        ...(from === undefined && to === undefined ? {} : { at: given({ gte: from, lt: to }) }),
      }
      const take = Math.min(Math.max(1, Math.floor(limit)), LIST_MAX)
      const query = { where, orderBy: { id: 'desc' }, take } as const
      const rows = await guarded('reading the audit', () => prisma.auditEntry.findMany(query))
      return rows.map((row) => ({ ...row, id: toNumber(row.id), at: toNumber(row.at) }))
    },
  }
}

/** Writes an entry, also within the transaction of what it tells about. */
export async function appendAudit(
  tx: Pick<Prisma.TransactionClient, 'auditEntry'>,
  at: number,
  { actor, role, action, subject, before, after }: AuditEntry,
): Promise<void> {
  const data = { at, actor, role, action, subject, before: toJson(before), after: toJson(after) }
  await tx.auditEntry.create({ data })
}

function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

function toJson(value: unknown) {
  return value === undefined || value === null ? Prisma.DbNull : (value as Prisma.InputJsonValue)
}
