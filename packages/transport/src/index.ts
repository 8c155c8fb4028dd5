export { Batcher, type BatcherSettings } from './batcher.ts'
export { CallTable, type CallTableSettings } from './call-table.ts'
export { createDialer, Dialer, type DialerParts, type DialerSettings, type Peer, parseAddress } from './dialer.ts'
export { linkKey, type Nonces, proofOf, type Side } from './hello-proof.ts'
export {
  LedgerClient,
  type LedgerClientParts,
  type LedgerClientSettings,
  LedgerFault,
  type ReserveClaims,
} from './ledger-client.ts'
export type { Link, LinkState } from './link.ts'
export { CLOSE_REASONS, type CloseReason } from './link-metrics.ts'
export { DEFAULT_LIMITS, type Identity, type LinkLimits } from './link-settings.ts'
export { createServer, type Server, type ServerAddress, type ServerParts, type ServerSettings } from './server.ts'
export { createStatsResponder } from './stats-responder.ts'
export { TransportError, type TransportErrorCode } from './transport-error.ts'
