/** Kinds of frames, by their number on the wire. A number is never given twice. */
export const KIND = {
  hello: 1,
  ping: 2,
  pong: 3,
  ask: 4,
  verdict: 5,
  reserve: 6,
  reserveReply: 7,
  command: 8,
  ack: 9,
  statsPull: 10,
  stats: 11,
  snapshot: 12,
  goodbye: 13,
  error: 14,
  ackReport: 15,
  abuseVerdicts: 16,
} as const

/** One of the numbers of KIND. */
export type Kind = (typeof KIND)[keyof typeof KIND]

/** Highest kind that is known. */
export const KIND_MAX = 16

/** What a LedgerCall asks for. */
export const VERB = { reserve: 1, confirm: 2, cancel: 3 } as const
/** One of the verbs. */
export type Verb = (typeof VERB)[keyof typeof VERB]

/** How a LedgerCall ended. `repeated` carries the first answer again. */
export const OUTCOME = {
  ok: 1,
  repeated: 2,
  soldOut: 3,
  ruleRefused: 4,
  tokenExpired: 5,
  notFound: 6,
  wrongState: 7,
  unavailable: 8,
  badRequest: 9,
  closed: 10,
} as const
/** One of the outcomes. */
export type Outcome = (typeof OUTCOME)[keyof typeof OUTCOME]

/** The one verdict code that the codec knows: its rows carry a token. The whole table is VERDICT in the domain package. */
export const GRANTED = 1
