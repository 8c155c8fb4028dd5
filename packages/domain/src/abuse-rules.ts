/** Document `abuse:rules`: what antiblack counts as abuse. */

import { Fields, type Parsed } from './checks.ts'

/** Key of the document. */
export const ABUSE_RULES_KEY = 'abuse:rules'

/** The rules; see `parseAbuseRules`. */
export interface AbuseRulesDoc {
  readonly version: number
  /** Verdicts are shown and counted, and change nothing. */
  readonly isShadow: boolean
}

/** Reads document `abuse:rules`. */
export function parseAbuseRules(value: unknown): Parsed<AbuseRulesDoc> {
  const fields = new Fields(value)
  return fields.done({ version: fields.id('version'), isShadow: fields.boolean('isShadow', false) })
}
