export {
  ADMISSION_CHARS,
  type AdmissionClaims,
  type AdmissionResult,
  issueAdmission,
  verifyAdmission,
} from './admission.ts'
export {
  type ChallengeData,
  type ChallengeParameters,
  issueChallenge,
  type SignedChallenge,
  solvedUnder,
} from './challenge.ts'
export { drawHashes } from './draw-hashes.ts'
export { createKeyRing, type KeyRing, type Purpose, type PurposeKeys, SECRET_CHARS_MIN } from './key-ring.ts'
export {
  issuePass,
  issueVoucher,
  PASS_CHARS,
  type PassClaims,
  type PassOutcome,
  VOUCHER_CHARS,
  VOUCHER_PREFIX,
  type VoucherClaims,
  type VoucherResult,
  verifyPass,
  verifyVoucher,
} from './pass.ts'
export { KEY_PERIOD_MS, PeriodKeys } from './period-keys.ts'
export { issueSession, SESSION_CHARS_MAX, type SessionClaims, type SessionResult, verifySession } from './session.ts'
export {
  issueTicket,
  judgeTicket,
  openTicket,
  readTicketScope,
  TICKET_CHARS_MAX,
  TICKET_MS_MAX,
  type TicketClaims,
  type TicketFault,
  type TicketOutcome,
  type TicketScope,
  verifyTicket,
} from './ticket.ts'
