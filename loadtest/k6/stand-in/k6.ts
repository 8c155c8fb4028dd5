/**
 * A thin stand-in of the part of k6's API that our scripts use, so that their logic runs in a test: k6's own binary is
 * in no package registry. `http` answers from a table of scripted answers; `sleep` only adds up.
 */

/** An answer that the stand-in gives. */
export interface ScriptedAnswer {
  readonly status: number
  readonly body?: unknown
}

/** What was asked, in order, and how long the script has slept. */
export const log = {
  calls: [] as { method: string; url: string; body?: unknown }[],
  sleptSeconds: 0,
  failedChecks: [] as string[],
}

let answers: (call: { method: string; url: string }) => ScriptedAnswer = () => ({ status: 599 })

/** Sets how calls are answered and empties the log. */
export function script(answer: (call: { method: string; url: string }) => ScriptedAnswer): void {
  answers = answer
  log.calls = []
  log.sleptSeconds = 0
  log.failedChecks = []
}

function respond(method: string, url: string, body?: string) {
  log.calls.push({ method, url, ...(body === undefined ? {} : { body: JSON.parse(body) }) })
  const answer = answers({ method, url })
  return { status: answer.status, body: answer.body === undefined ? null : JSON.stringify(answer.body) }
}

/** Stands in for `k6`. */
export function check<T>(value: T, checks: Record<string, (value: T) => boolean>): boolean {
  const failed = Object.entries(checks).filter(([, holds]) => !holds(value))
  log.failedChecks.push(...failed.map(([name]) => name))
  return failed.length === 0
}

/** Stands in for `k6`. */
export function sleep(seconds: number): void {
  log.sleptSeconds += seconds
}

/** Stands in for `k6/http`. */
export const http = {
  get: (url: string) => respond('GET', url),
  post: (url: string, body: string) => respond('POST', url, body),
}
