export {
  type AbuseVerdict,
  BLOCKED_TIER,
  COHORT_COUNT,
  RANK_COUNT,
  SUBJECT_KINDS,
  type SubjectKind,
  subjectOf,
  subnetOf,
  TIER_COUNT,
  type Tier,
} from './abuse.ts'
export {
  ABUSE_FEATURE_SCHEMA,
  ABUSE_MODEL_KEY,
  ABUSE_MODEL_SIZE,
  type AbuseModelDoc,
  parseAbuseModel,
  type ScoreStep,
} from './abuse-model.ts'
export {
  ABUSE_COUNTS,
  ABUSE_DISTINCTS,
  ABUSE_RULES_KEY,
  ABUSE_RULES_MAX,
  ABUSE_WINDOWS_SECONDS,
  type AbuseCount,
  type AbuseDistinct,
  type AbuseFigure,
  type AbuseRule,
  type AbuseRulesDoc,
  DEFAULT_ABUSE_RULES,
  parseAbuseRules,
} from './abuse-rules.ts'
export {
  ACTIVITY_EVENTS,
  ACTIVITY_TABLE,
  type ActivityEvent,
  activityStep,
  isLayerOpen,
  isLayerShut,
  isSelling,
  type Layer,
} from './activity-machine.ts'
export {
  type ChallengeDoc,
  type ChallengeMode,
  isChallenged,
  NO_CHALLENGE,
  parseChallenge,
  triesOf,
  waitSecondsOf,
} from './challenge.ts'
export { Fields, type NumberBounds, type Parsed, show } from './checks.ts'
export { PROBLEM_STATUS, type ProblemCode, problemBody, VERDICT, type VerdictCode } from './codes.ts'
export { diagram, FIGURES_ARROWS, machinesDocument, pairs } from './diagrams.ts'
export { DOCUMENT_BYTES_MAX } from './document-bytes.ts'
export { type GoodDocument, parseDocument } from './document-kinds.ts'
export {
  ACTIVITY_STAGES,
  ACTIVITY_STATES,
  type AccessLimit,
  type ActivityDoc,
  type ActivityStage,
  type ActivityState,
  activityKey,
  DEFAULT_POLICY,
  NO_RESERVATION,
  type Policy,
  PURCHASE_RULES,
  type PurchaseRule,
  parseAccessLimit,
  parseActivityDoc,
  parsePolicy,
  parseReservation,
  parseSkuDoc,
  parseSlotTableDoc,
  parseStatusDoc,
  type ReservationDoc,
  SKUS_MAX,
  type SkuDoc,
  SLOTS_KEY,
  type SlotTableDoc,
  STOCK_MAX,
  type StatusDoc,
  skuKey,
  statusKey,
} from './documents.ts'
export {
  DRAW_SCORE_BITS,
  DrawCheck,
  type DrawHashes,
  type DrawHeader,
  drawCommitOf,
  drawPseudonym,
  drawScore,
} from './draw.ts'
export { checkInvariants, type Figures, NO_FIGURES } from './figures.ts'
export {
  type ActivityId,
  isOrderId,
  isTokenId,
  type OrderId,
  orderIdOf,
  parseId,
  type SkuId,
  type TokenId,
  type Uid,
} from './ids.ts'
export { type LineRate, stepLineRate } from './line-rate.ts'
export {
  ORDER_EVENTS,
  ORDER_STATES,
  ORDER_TABLE,
  type OrderEvent,
  type OrderState,
  orderStep,
} from './order-machine.ts'
export {
  applyTrigger,
  matchTrigger,
  PLAN_TRIGGERS_MAX,
  type PolicyPart,
  type PolicyPlan,
  type PolicyTrigger,
  type PolicyWhen,
  parsePolicyPlan,
} from './policy-plan.ts'
export { NO_PRESSURE, PRESSURE_FACTOR_MIN, PRESSURE_KEY, type PressureDoc, parsePressureDoc } from './pressure.ts'
export { evaluateRule, type RuleQuestion } from './purchase-rule.ts'
export {
  parseSharesDoc,
  SHARERS_MAX,
  SHARES_KEY,
  SHARES_OLD_MS,
  type Share,
  type SharesDoc,
  shareOf,
} from './shares.ts'
export {
  paceOf,
  SKU_EVENT_TYPES,
  SKU_GATES,
  SKU_STATES,
  SKU_TABLE,
  type SkuEvent,
  type SkuGate,
  type SkuState,
  skuStep,
  stateByFigures,
} from './sku-machine.ts'
export {
  ADMISSIONS,
  type Admission,
  callsAtOf,
  DEFAULT_WAITING,
  DRAW_REVEAL_AFTER_MS,
  type DrawTerms,
  hasLine,
  isSeedShown,
  type LineView,
  parseLineView,
  parseWaiting,
  type WaitingDoc,
} from './waiting.ts'
