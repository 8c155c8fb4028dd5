/** The rules that are defined: stored with their audit, compiled once, bounded; a rule that cannot be read is said, and skipped. */

import type { Db, RuleRow } from '@bigtap/db'
import type { Parsed } from '@bigtap/domain'
import type { Logger } from '@bigtap/kernel'
import { actsAlone, parseRule, RULE_LIMITS, type Rule, type StoredRule } from './core/rules.ts'
import { DEFAULT_RULES } from './default-rules.ts'
import { Problem } from './http/edge.ts'
import { type Actor, adminOnly } from './http/session.ts'
import { type Condition, compileCondition } from './rule-conditions.ts'
import { entryOf, forbid, unwrap } from './sale-desk.ts'

/** Collaborators. */
export interface RuleDeskParts {
  readonly db: Pick<Db, 'rules' | 'definitions'>
  readonly logger: Logger
}

/** A rule that can be tried. */
export interface ReadyRule {
  readonly rule: StoredRule
  readonly condition: Condition
}

type Input = Readonly<Record<string, unknown>>

/** Names of the shipped rules that this database was given: one that an operator deleted stays deleted. */
const ALONE = 'only an admin lets a rule act without a yes'
const SHIPPED_SETTING = 'rules.shipped'

/** The desk. */
export class RuleDesk {
  readonly #parts: RuleDeskParts
  readonly #rules = new Map<number, ReadyRule>()

  constructor(parts: RuleDeskParts) {
    this.#parts = parts
  }

  /** All rules, the oldest first. */
  get rules(): ReadyRule[] {
    return [...this.#rules.values()]
  }

  /** Takes what is stored, and stores the shipped rules that are new. Rejects when PostgreSQL is away. */
  async load(): Promise<void> {
    const { db } = this.#parts
    await this.#ship()
    this.#rules.clear()
    for (const row of await db.rules.list()) this.#take(row)
  }

  get(id: number | undefined): ReadyRule {
    const found = id === undefined ? undefined : this.#rules.get(id)
    if (found === undefined) throw new Problem('not_found', { detail: 'there is no such rule' })
    return found
  }

  async create(actor: Actor, input: Input): Promise<StoredRule> {
    const rule = this.#read(actor, input)
    if (this.#rules.size >= RULE_LIMITS.rulesMax) forbid(`there are ${RULE_LIMITS.rulesMax} rules already`)
    const row = await this.#parts.db.rules.create({ name: rule.name, body: rule }, ({ id }) =>
      entryOf(actor, 'rule.create', `rule:${id}`, undefined, rule),
    )
    if (row === undefined) forbid(`there is a rule "${rule.name}" already`)
    return this.#taken(row)
  }

  async patch(actor: Actor, id: number | undefined, input: Input): Promise<StoredRule> {
    const { id: ruleId, version: _version, ...before } = this.get(id).rule
    if (actsAlone(before)) adminOnly(actor, ALONE)
    const rule = this.#read(actor, { ...before, ...input })
    const row = await this.#parts.db.rules.patch(ruleId, { name: rule.name, body: rule }, () =>
      entryOf(actor, 'rule.patch', `rule:${ruleId}`, before, rule),
    )
    if (row === undefined) forbid(`there is a rule "${rule.name}" already`)
    return this.#taken(row)
  }

  async remove(actor: Actor, id: number | undefined): Promise<void> {
    const { rule } = this.get(id)
    await this.#parts.db.rules.remove(rule.id, entryOf(actor, 'rule.delete', `rule:${rule.id}`, rule, undefined))
    this.#rules.delete(rule.id)
  }

  /** Reads a rule and compiles it, without storing it. */
  tried(input: Input): ReadyRule {
    const rule = unwrap(readRule(input))
    return { rule: { ...rule, id: 0, version: 0 }, condition: unwrap(compileCondition(rule.when)) }
  }

  #read(actor: Actor, input: Input): Rule {
    const rule = unwrap(readRule(input))
    if (actsAlone(rule)) adminOnly(actor, ALONE)
    return rule
  }

  #taken(row: RuleRow | undefined): StoredRule {
    if (row === undefined) throw new Problem('not_found')
    this.#take(row)
    return this.get(row.id).rule
  }

  #take(row: RuleRow): void {
    const read = readRule(row.body)
    const condition = read.ok ? compileCondition(read.value.when) : read
    if (read.ok && condition.ok) {
      this.#rules.set(row.id, { rule: { ...read.value, id: row.id, version: row.version }, condition: condition.value })
      return
    }
    const errors = read.ok ? (condition.ok ? [] : condition.errors) : read.errors
    this.#parts.logger.error({ ruleId: row.id, name: row.name, errors }, 'a stored rule cannot be read and is skipped')
  }

  async #ship(): Promise<void> {
    const { rules, definitions } = this.#parts.db
    const value = await definitions.getSetting(SHIPPED_SETTING)
    const shipped = new Set(Array.isArray(value) ? value.map(String) : [])
    const missing = DEFAULT_RULES.filter(({ name }) => !shipped.has(name))
    if (missing.length === 0) return
    for (const rule of missing) await rules.create({ name: rule.name, body: rule })
    await definitions.setSetting(SHIPPED_SETTING, [...shipped, ...missing.map(({ name }) => name)])
  }
}

function readRule(value: unknown): Parsed<Rule> {
  return parseRule(value, (when) => {
    const compiled = compileCondition(when)
    return compiled.ok ? { ok: true, value: { uses: compiled.value.uses } } : compiled
  })
}
