/** The kinds of documents, by the key they stand under: one check for master's dry run and for every front. Pure. */

import { ABUSE_MODEL_KEY, type AbuseModelDoc, parseAbuseModel } from './abuse-model.ts'
import { ABUSE_RULES_KEY, type AbuseRulesDoc, parseAbuseRules } from './abuse-rules.ts'
import type { Parsed } from './checks.ts'
import {
  type ActivityDoc,
  activityKey,
  parseActivityDoc,
  parseSkuDoc,
  parseSlotTableDoc,
  parseStatusDoc,
  type SkuDoc,
  SLOTS_KEY,
  type SlotTableDoc,
  type StatusDoc,
  skuKey,
  statusKey,
} from './documents.ts'
import { PRESSURE_KEY, type PressureDoc, parsePressureDoc } from './pressure.ts'
import { parseSharesDoc, SHARES_KEY, type SharesDoc } from './shares.ts'

/** A document that has passed its checks. */
export type GoodDocument =
  | { kind: 'activity'; key: string; doc: ActivityDoc }
  | { kind: 'sku'; key: string; doc: SkuDoc }
  | { kind: 'status'; key: string; doc: StatusDoc }
  | { kind: 'slots'; key: string; doc: SlotTableDoc }
  | { kind: 'pressure'; key: string; doc: PressureDoc }
  | { kind: 'shares'; key: string; doc: SharesDoc }
  | { kind: 'abuse-rules'; key: string; doc: AbuseRulesDoc }
  | { kind: 'abuse-model'; key: string; doc: AbuseModelDoc }

/** Reads a document by the kind that its key names; undefined for a kind that is not known here. A fault of a check is an error of the document. */
export function parseDocument(key: string, body: unknown): Parsed<GoodDocument> | undefined {
  try {
    return parseKind(key, body)
  } catch (error) {
    return { ok: false, errors: [`could not be checked: ${error instanceof Error ? error.message : String(error)}`] }
  }
}

function parseKind(key: string, body: unknown): Parsed<GoodDocument> | undefined {
  const [kind] = key.split(':', 1)
  if (kind === 'activity') {
    return named(key, parseActivityDoc(body), 'activity', (doc) => activityKey(doc.id))
  }
  if (kind === 'sku') return named(key, parseSkuDoc(body), 'sku', (doc) => skuKey(doc.activityId, doc.id))
  if (kind === 'status') {
    return named(key, parseStatusDoc(body), 'status', (doc) => statusKey(doc.activityId, doc.skuId))
  }
  if (key === PRESSURE_KEY) return named(key, parsePressureDoc(body), 'pressure', () => PRESSURE_KEY)
  if (key === SHARES_KEY) return named(key, parseSharesDoc(body), 'shares', () => SHARES_KEY)
  if (key === ABUSE_RULES_KEY) return named(key, parseAbuseRules(body), 'abuse-rules', () => ABUSE_RULES_KEY)
  if (key === ABUSE_MODEL_KEY) return named(key, parseAbuseModel(body), 'abuse-model', () => ABUSE_MODEL_KEY)
  return key === SLOTS_KEY ? named(key, parseSlotTableDoc(body), 'slots', () => SLOTS_KEY) : undefined
}

/** A document whose own ids do not match its key is refused: it would replace another. */
function named<Kind extends GoodDocument['kind'], Doc>(
  key: string,
  parsed: Parsed<Doc>,
  kind: Kind,
  keyOf: (doc: Doc) => string,
): Parsed<GoodDocument> {
  if (!parsed.ok) return parsed
  const own = keyOf(parsed.value)
  if (own !== key) return { ok: false, errors: [`document of ${own} stands under ${key}`] }
  return { ok: true, value: { kind, key, doc: parsed.value } as unknown as GoodDocument }
}
