/** Classes of answers to a buy request; the names of the report. */
export const ANSWER_CLASSES = [
  'granted',
  'queued',
  'soldOut',
  'refused',
  'rateLimited',
  'blocked',
  'overloaded',
  'error',
] as const
/** One class of answers. */
export type AnswerClass = (typeof ANSWER_CLASSES)[number]

/** Sorts an answer to a buy request into its class. */
export function classify(status: number, code: string | undefined): AnswerClass {
  if (status === 200) return 'granted'
  if (status === 202) return 'queued'
  if (status === 410) return 'soldOut'
  if (status === 429) return 'rateLimited'
  if (status === 403 && code === 'blocked') return 'blocked'
  if (status === 503) return code === 'overloaded' ? 'overloaded' : 'error'
  if (status === 409 || status === 403 || status === 425 || status === 428) return 'refused'
  if (status === 400 && code === 'bad_ticket') return 'refused'
  return 'error'
}
