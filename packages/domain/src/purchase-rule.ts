import type { PurchaseRule } from './documents.ts'

/** What a buyer has (granted, held or sold) and wants; units. */
export interface RuleQuestion {
  readonly unitsOfSku: number
  readonly unitsOfOtherSkus: number
  readonly quantity: number
  readonly limitPerBuyer: number
}

/**
 * Does the rule allow it? `already-bought` when the buyer's units of this product are used up, `rule-refused` when the
 * rule forbids it for another reason. Checked by Middle (first, in memory) and by the counter (last, in Redis).
 */
export function evaluateRule(
  rule: PurchaseRule,
  question: RuleQuestion,
): 'allowed' | 'already-bought' | 'rule-refused' {
  const { unitsOfSku, unitsOfOtherSkus, quantity, limitPerBuyer } = question
  if (quantity > limitPerBuyer) return 'rule-refused'
  if (rule === 'unlimited') return 'allowed'
  if (rule === 'one-product-per-activity' && unitsOfOtherSkus > 0) return 'rule-refused'
  return unitsOfSku + quantity > limitPerBuyer ? 'already-bought' : 'allowed'
}
