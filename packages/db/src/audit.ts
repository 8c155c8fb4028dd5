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

/** Who changed what, when. Entries are never changed. */
export interface Audit {
  append(entry: AuditEntry): Promise<void>
  /** The newest first; the next page starts before the last id of this one. */
  list(options?: { subject?: string; before?: number; limit?: number }): Promise<AuditRow[]>
}

const LIST_MAX = 1_000

/** The repository of audit entries. */
export function createAudit(prisma: PrismaClient, now: () => number): Audit {
  return {
    async append({ actor, role, action, subject, before, after }) {
      const data = { at: now(), actor, role, action, subject, before: toJson(before), after: toJson(after) }
      await guarded('writing the audit', () => prisma.auditEntry.create({ data }))
    },
    async list({ subject, before = Number.MAX_SAFE_INTEGER, limit = 100 } = {}) {
      const where = { id: { lt: before }, ...(subject === undefined ? {} : { subject }) }
      const take = Math.min(Math.max(1, Math.floor(limit)), LIST_MAX)
      const query = { where, orderBy: { id: 'desc' }, take } as const
      const rows = await guarded('reading the audit', () => prisma.auditEntry.findMany(query))
      return rows.map((row) => ({ ...row, id: toNumber(row.id), at: toNumber(row.at) }))
    },
  }
}

function toJson(value: unknown) {
  return value === undefined || value === null ? Prisma.DbNull : (value as Prisma.InputJsonValue)
}
