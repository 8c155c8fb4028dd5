/** The calls that every buyer makes at the limiters: for the hidden path, and to buy. */

import { type AnswerClass, classify } from './answer-class.ts'
import type { Solver } from './challenge.ts'
import type { Answer, Client } from './client.ts'
import type { SlowSenders } from './slow-senders.ts'
import type { CrowdStats } from './stats.ts'
import type { Visit } from './visit.ts'

/** What all buyers share. Times are ms since the epoch. */
export interface Sale {
  readonly activityId: number
  readonly skuIds: readonly number[]
  readonly opensAt: number
  readonly endsAt: number
  readonly client: Client
  readonly stats: CrowdStats
  readonly solver: Solver
  readonly slowSenders: SlowSenders
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
  /** Chance of those who guess. */
  readonly draw: () => number
}

/** How long one waits who was not told, ms. */
export const RETRY_MS_DEFAULT = 500
/** Nobody asks again sooner, ms. */
export const RETRY_MS_MIN = 50

/** One answered buy request. */
export interface Asked {
  readonly kind: AnswerClass
  readonly status: number
  readonly token: string | undefined
  readonly retryAfterMs: number | undefined
}

/** Asks to buy. */
export async function ask(visit: Visit, sale: Sale, path: string): Promise<Asked> {
  const answer = await sale.client.call(visit.call({ method: 'GET', path }))
  const kind = classify(answer.status, codeOf(answer))
  visit.note(kind, answer.status)
  sale.stats.onAnswer(visit.plan, kind, answer.latencyMs, sale.now())
  if (answer.status >= 500 && answer.status !== 503) sale.stats.complain('unexpected-status', `buy ${answer.status}`)
  const token = typeof answer.body?.token === 'string' ? answer.body.token : undefined
  return { kind, status: answer.status, token, retryAfterMs: retryAfter(answer) }
}

/** The answer to a call for the path: the path, or why there is none. */
export type PathAnswer = { readonly path: string } | { readonly path: undefined; readonly answer: Answer }

/** Asks for the hidden path; solves a challenge on the way if it comes and `solves` is set. */
export async function askPath(visit: Visit, sale: Sale, solves: boolean): Promise<PathAnswer> {
  let answer = await callPath(visit, sale)
  if (answer.status === 428 && solves) {
    const proof = await sale.solver.solve(answer.body?.challenge)
    if (proof !== undefined) answer = await callPath(visit, sale, proof)
  }
  if (typeof answer.body?.pass === 'string') visit.pass = answer.body.pass
  if (answer.status === 200 && typeof answer.body?.path === 'string') return { path: answer.body.path }
  return { path: undefined, answer }
}

async function callPath(visit: Visit, sale: Sale, proof?: string): Promise<Answer> {
  const sku = sale.skuIds[visit.plan.skuIndex]
  const headers = proof === undefined ? undefined : { 'x-challenge': proof }
  const path = `/v1/activities/${sale.activityId}/skus/${sku}/path`
  const answer = await sale.client.call(visit.call({ method: 'GET', path, headers }))
  if (answer.status === 410) visit.noteEnd()
  else if (answer.status !== 200) visit.note(classify(answer.status, codeOf(answer)), answer.status)
  return answer
}

/** Is there nothing more to ask for: sold out, or not for this buyer? */
export function isOver({ status }: Answer): boolean {
  return status === 410 || status === 403
}

/** How long the answer says to wait, ms. */
export function retryAfter(answer: Answer): number | undefined {
  const ms = answer.body?.retryAfterMs
  return typeof ms === 'number' && ms >= 0 && ms <= 60_000 ? ms : undefined
}

function codeOf({ body }: Answer): string | undefined {
  return typeof body?.code === 'string' ? body.code : undefined
}
