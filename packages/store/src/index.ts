export { ABUSE_LOG_MAX, ABUSE_VERDICTS_MAX, AbuseBoard, type AbuseHead, type SaidVerdicts } from './abuse-board.ts'
export { ANSWER_LIMITS, AnswerBox } from './answer-box.ts'
export {
  type CatalogHead,
  CatalogStore,
  type DocumentChange,
  type PublishedDocument,
  type Publisher,
} from './catalog-store.ts'
export { connectStore, type Store, type StoreSettings } from './connection.ts'
export { documentHash } from './document-hash.ts'
export { createFigurePush, type FigurePushParts, type OwnFigures, PUSH_EVERY_MS } from './figure-push.ts'
export {
  connectFigures,
  type FigureReader,
  type FigureReaderSettings,
  type FigureRow,
  type NodeFigures,
  parseTick,
  type SkuFigures,
  type Tick,
} from './figure-reader.ts'
export {
  type Grant,
  GrantLog,
  type GrantOutcome,
  type GrantState,
  LEASE_MS,
  type Leased,
  type LeaseWish,
  PACE_CHUNK_MS,
  type SlotClaim,
} from './grant-log.ts'
export { type GrantEntry, GrantOutbox, type WrittenGrant } from './grant-outbox.ts'
export { Guards, metaKey, REBUILDING, rootKey } from './guards.ts'
export {
  type Adopted,
  figuresOf,
  LEDGER_BATCH_MAX,
  LEDGER_OUTCOME,
  Ledger,
  type LedgerOutcome,
  type LedgerReply,
  type LedgerSku,
  type OutboxEntry,
  RESERVE_SCRIPT,
  type Reservation,
  type Swept,
  TOKEN_GRACE_MS,
} from './ledger.ts'
export {
  type Claimant,
  DRAWN_PAGE,
  type DrawnPlace,
  LINE_HEARD_MAX,
  LINE_JOINS_MAX,
  LINE_LOOKS_MAX,
  type LineCall,
  type LineJoin,
  type LineMode,
  type LineReply,
  type LineState,
  Lines,
} from './lines.ts'
export { NameLease } from './name-lease.ts'
export {
  FORGOTTEN_MS,
  HEARTBEAT_MS,
  type HeardNode,
  heartbeatLoop,
  type NodeInfo,
  type NodeState,
  Nodes,
} from './nodes.ts'
export { Once } from './once.ts'
export {
  formatOrderRecord,
  type LedgerOrder,
  type LedgerOrderState,
  parseEventLine,
  parseOrderRecord,
} from './order-record.ts'
export {
  type HeardPressure,
  PRESSURE_KEPT_MS,
  PRESSURE_NODES_MAX,
  PressureBoard,
  type PressureReport,
} from './pressure-board.ts'
export { createPressureReport, type PressureSettings, pressureWork, WaitMeter } from './pressure-report.ts'
export { PUSHES_MAX, type PushedStats, PushList, type TakenPushes } from './push-list.ts'
export {
  RESERVATIONS_MAX,
  RESERVATIONS_PAGE,
  Reservations,
  type ReservationsHead,
} from './reservations.ts'
export { loadScript, runScript, type Script } from './script.ts'
