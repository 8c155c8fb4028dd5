/** Answers master's question why somebody is judged as he is: with the evidence of this process, as it stands now. */

import { SUBJECT_KINDS } from '@bigtap/domain'
import type { Clock, Logger } from '@bigtap/kernel'
import type { AnswerBox } from '@bigtap/store'
import type { Engine } from './abuse-judge.ts'

/** Name of the call; its arguments are `{ askId, subject }`. */
export const EXPLAIN_CALL = 'explain-abuse'

/** Collaborators. */
export interface ExplainerParts {
  readonly nodeId: string
  readonly engine: Pick<Engine, 'explain'>
  readonly answers: Pick<AnswerBox, 'put'>
  readonly clock: Clock
  readonly logger: Logger
}

const SUBJECT_CHARS_MAX = 128

/** Makes the handler of master's calls. One that is no question of ours is passed over. */
export function createExplainer({ nodeId, engine, answers, clock, logger }: ExplainerParts) {
  return (name: string, args: unknown): void => {
    if (name !== EXPLAIN_CALL || typeof args !== 'object' || args === null) return
    const { askId, subject } = args as { askId?: unknown; subject?: unknown }
    if (typeof askId !== 'string' || typeof subject !== 'string' || subject.length > SUBJECT_CHARS_MAX) return
    const colon = subject.indexOf(':')
    const kind = SUBJECT_KINDS.find((one) => one === subject.slice(0, colon))
    if (kind === undefined) return
    const at = clock.now()
    const answer = JSON.stringify({
      nodeId,
      at,
      explanation: engine.explain({ kind, key: subject.slice(colon + 1) }, at) ?? null,
    })
    answers.put(askId, answer).catch((error: unknown) => logger.debug({ error }, 'an explanation was not taken'))
  }
}
