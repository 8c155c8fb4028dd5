import { type AuditEntry, appendAudit } from './audit.ts'
import { guarded } from './errors.ts'
import type { Prisma, PrismaClient, Rule } from './generated/client.ts'
import { toNumber } from './numbers.ts'

/** A rule as it is stored; `body` is its document, which the reader checks. */
export interface RuleRow {
  readonly id: number
  readonly name: string
  readonly body: unknown
  readonly version: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** Rules of the rule engine. Each change writes its audit in its own transaction. */
export interface Rules {
  /** All of them, the oldest first. */
  list(): Promise<RuleRow[]>
  /** Undefined when the name is taken. */
  create(rule: { name: string; body: unknown }, audit?: (row: RuleRow) => AuditEntry): Promise<RuleRow | undefined>
  /** Undefined when there is no such rule, or the name is taken. */
  patch(
    id: number,
    rule: { name: string; body: unknown },
    audit?: (row: RuleRow) => AuditEntry,
  ): Promise<RuleRow | undefined>
  /** False when there is no such rule. */
  remove(id: number, audit?: AuditEntry): Promise<boolean>
}

/** Most rules that are read. */
const RULES_MAX = 1_000

/** The repository of rules. */
export function createRules(prisma: PrismaClient, now: () => number): Rules {
  type Tx = Prisma.TransactionClient
  const isTaken = async (tx: Tx, name: string, except?: number) => {
    const found = await tx.rule.findUnique({ where: { name } })
    return found !== null && found.id !== except
  }
  return {
    async list() {
      const query = { orderBy: { id: 'asc' }, take: RULES_MAX } as const
      return (await guarded('listing rules', () => prisma.rule.findMany(query))).map(toRule)
    },
    create: ({ name, body }, audit) =>
      guarded('storing a rule', () =>
        prisma.$transaction(async (tx) => {
          if (await isTaken(tx, name)) return undefined
          const data = { name, body: body as Prisma.InputJsonValue, createdAt: now(), updatedAt: now() }
          const row = toRule(await tx.rule.create({ data }))
          if (audit !== undefined) await appendAudit(tx, now(), audit(row))
          return row
        }),
      ),
    patch: (id, { name, body }, audit) =>
      guarded('changing a rule', () =>
        prisma.$transaction(async (tx) => {
          const isThere = (await tx.rule.findUnique({ where: { id } })) !== null
          if (!isThere || (await isTaken(tx, name, id))) return undefined
          const data = { name, body: body as Prisma.InputJsonValue, version: { increment: 1 }, updatedAt: now() }
          const row = toRule(await tx.rule.update({ where: { id }, data }))
          if (audit !== undefined) await appendAudit(tx, now(), audit(row))
          return row
        }),
      ),
    remove: (id, audit) =>
      guarded('deleting a rule', () =>
        prisma.$transaction(async (tx) => {
          const { count } = await tx.rule.deleteMany({ where: { id } })
          if (count > 0 && audit !== undefined) await appendAudit(tx, now(), audit)
          return count > 0
        }),
      ),
  }
}

function toRule(row: Rule): RuleRow {
  return { ...row, createdAt: toNumber(row.createdAt), updatedAt: toNumber(row.updatedAt) }
}
