export type { Audit, AuditEntry, AuditQuery, AuditRow } from './audit.ts'
export { createDb, type Db, type DbSettings } from './db.ts'
export type { DeadLetter, DeadLetterRow, DeadLetters } from './dead-letters.ts'
export type {
  ActivityRow,
  AuditOf,
  Definitions,
  Deletion,
  Guard,
  NewActivity,
  NewSku,
  SkuRow,
  Stored,
} from './definitions.ts'
export { DbError, type DbFault } from './errors.ts'
export type { Reigning } from './fence.ts'
export { type MigrateOptions, type Migration, migrate, readMigrations } from './migrate.ts'
export type { OrderRow, Orders, SkuCounts, StateChange, StateCounts, StoredOrderState } from './orders.ts'
export type { EventReceipt, PaymentEventRow, PaymentRow, PaymentState, Payments } from './payments.ts'
export type { RuleRow, Rules } from './rules.ts'
export type { WarehouseReport, WarehouseRow, WarehouseStock } from './warehouse-stock.ts'
