export {
  ADMISSION_CHARS,
  type AdmissionClaims,
  type AdmissionResult,
  issueAdmission,
  verifyAdmission,
} from './admission.ts'
export { createKeyRing, type KeyRing, type Purpose, type PurposeKeys, SECRET_CHARS_MIN } from './key-ring.ts'
export { issueSession, SESSION_CHARS_MAX, type SessionClaims, type SessionResult, verifySession } from './session.ts'
export {
  issueTicket,
  judgeTicket,
  openTicket,
  readTicketScope,
  TICKET_CHARS_MAX,
  type TicketClaims,
  type TicketOutcome,
  type TicketScope,
  verifyTicket,
} from './ticket.ts'
