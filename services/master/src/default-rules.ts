/** The rules that come with the platform. They only tell; docs/RUNBOOK.md says what to do. */

import type { Rule } from './core/rules.ts'

const told = { actions: [{ type: 'alert' }], needsYes: true, webhook: true, enabled: true, clearSeconds: 5 } as const

/** Shipped once into each database; operators change or delete them. Not every node has every figure, so they ask first. */
export const DEFAULT_RULES: readonly Rule[] = [
  {
    ...{ ...told, name: 'figures do not add up', severity: 'critical', forSeconds: 2 },
    when: 'has(totals.violations) && totals.violations > 0',
  },
  {
    ...{ ...told, name: 'ledger in doubt', severity: 'critical', forSeconds: 5 },
    when: 'has(totals.ledgersInDoubt) && totals.ledgersInDoubt > 0',
  },
  {
    ...{ ...told, name: 'node silent', severity: 'critical', forSeconds: 0 },
    when: 'has(node.ageMs) && node.ageMs > 5000',
  },
  {
    ...{ ...told, name: 'documents refused', severity: 'critical', forSeconds: 0 },
    when: 'has(node.refused) && node.refused > 0',
  },
  {
    ...{ ...told, name: 'event loop slow', severity: 'warning', forSeconds: 5 },
    when: 'has(node.eventLoopMs) && node.eventLoopMs > 250',
  },
  {
    ...{ ...told, name: 'queue deep', severity: 'warning', forSeconds: 5 },
    when: 'has(node.queueDepth) && node.queueDepth > 5000',
  },
  {
    ...{ ...told, name: 'orders stored late', severity: 'warning', forSeconds: 10 },
    when: 'has(node.lag) && node.lag > 10000',
  },
  {
    ...{ ...told, name: 'requests judged late', severity: 'warning', forSeconds: 5 },
    when: 'has(node.accessLagMs) && node.accessLagMs > 3000',
  },
  {
    ...{ ...told, name: 'verdicts wait', severity: 'warning', forSeconds: 5 },
    when: 'has(node.verdictsWaiting) && node.verdictsWaiting > 1000',
  },
  {
    ...{ ...told, name: 'many are blocked', severity: 'warning', forSeconds: 5 },
    when: 'has(node.blockedLastMinute) && has(node.subjects) && node.blockedLastMinute > 1000 && node.blockedLastMinute * 2 > node.subjects',
  },
  {
    ...{ ...told, name: 'nobody gets anything', severity: 'critical', forSeconds: 10 },
    when: 'sku.state in ["releasing", "tapering"] && has(sku.free) && sku.free > 0 && has(sku.askRate) && sku.askRate > 10 && has(sku.grantRate) && sku.grantRate == 0',
  },
]
