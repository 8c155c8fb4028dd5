/** Document `abuse:model`: weights of the logistic regression. */

import { Fields, type Parsed } from './checks.ts'

/** Key of the document. */
export const ABUSE_MODEL_KEY = 'abuse:model'

/** The model; see `parseAbuseModel`. */
export interface AbuseModelDoc {
  readonly version: number
}

/** Reads document `abuse:model`. */
export function parseAbuseModel(value: unknown): Parsed<AbuseModelDoc> {
  const fields = new Fields(value)
  return fields.done({ version: fields.id('version') })
}
