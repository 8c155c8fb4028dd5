export {
  ABUSE_BATCH_MAX,
  ABUSE_REASON_CHARS_MAX,
  type AbuseVerdictBatch,
  decodeAbuseVerdicts,
  encodeAbuseVerdicts,
} from './abuse-verdict-batch.ts'
export {
  ACCESS_CALL,
  ACCESS_FLAG,
  ACCESS_OUTCOME,
  type AccessCall,
  AccessColumns,
  type AccessOutcome,
  toldFlags,
  toldMsOf,
} from './access-batch.ts'
export { ACCESS_NUMBER_MAX, ADDRESS_CHARS_MAX, decodeAccessBatch, encodeAccessBatch } from './access-codec.ts'
export {
  type Ack,
  type AckReport,
  AHEAD_MAX,
  decodeAck,
  decodeAckReport,
  ERROR_CHARS_MAX,
  encodeAck,
  encodeAckReport,
  encodeAckReports,
  type NodeAck,
  REFUSED_MAX,
  REPORT_NODES_MAX,
  type RefusedCommand,
} from './ack-messages.ts'
export { AskColumns, askBatchBytesMax, decodeAskBatch, encodeAskBatch } from './ask-batch.ts'
export {
  CUT_BYTES_MAX,
  commandsThatFit,
  cutBatch,
  type EncodedCommand,
  encodeCommandBatches,
} from './command-cut.ts'
export {
  type BatchPosition,
  CALL_PREFIX,
  COMMAND_NODES_MAX,
  COMMANDS_MAX,
  type Command,
  type CommandBatch,
  type CommandInit,
  decodeCommandBatch,
  encodeCommand,
  encodeCommandBatch,
  joinCommands,
  KEY_CHARS_MAX,
} from './command-messages.ts'
export {
  BODY_BYTES_MAX,
  checkHeader,
  encodeFrame,
  HEADER_BYTES,
  VERSION_MAJOR,
  VERSION_MINOR,
  writeHeader,
} from './frame.ts'
export { type FrameHandler, FrameParser } from './frame-parser.ts'
export { decodeGrantEvent, encodeGrantEvent, type GrantEvent } from './grant-event.ts'
export { KIND, type Kind, OUTCOME, type Outcome, VERB, type Verb } from './kind.ts'
export {
  decodeLedgerCalls,
  decodeLedgerReplies,
  encodeLedgerCalls,
  encodeLedgerReplies,
  ID_CHARS_MAX,
  LEDGER_ROWS_MAX,
  type LedgerCall,
  type LedgerCallInit,
  type LedgerReply,
  type LedgerReplyInit,
} from './ledger-messages.ts'
export {
  decodeError,
  decodeGoodbye,
  decodeHello,
  decodePing,
  decodePong,
  type ErrorMessage,
  encodeError,
  encodeGoodbye,
  encodeHello,
  encodePing,
  encodePong,
  type Hello,
  NAME_CHARS_MAX,
  NONCE_BYTES,
  type Pong,
  PROOF_BYTES,
} from './link-messages.ts'
export { decodeOrderEvent, encodeOrderEvent, type OrderEvent, type OrderEventType } from './order-event.ts'
export { ProtocolError, type ProtocolErrorCode } from './protocol-error.ts'
export {
  decodeStats,
  encodeStats,
  type SkuStats,
  STATS_FIGURES_MAX,
  STATS_SKUS_MAX,
  type Stats,
} from './stats-messages.ts'
export {
  decodeVerdictBatch,
  encodeVerdictBatch,
  TOKEN_BYTES_MAX,
  VerdictColumns,
  verdictBatchBytesMax,
} from './verdict-batch.ts'
