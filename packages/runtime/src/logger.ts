/** Logs as pino's JSON lines on standard output, secrets left out. */

import type { Logger } from '@bigtap/kernel'
import { type Logger as Pino, pino } from 'pino'

const LEVELS = ['debug', 'info', 'warn', 'error', 'fatal', 'silent']
const SECRET_FIELDS = ['token', 'session', 'authorization', 'cookie', 'password', 'secret', 'uid', 'ticket', 'idToken']

/** Where lines go other than standard output. */
export interface LogSink {
  write(line: string): void
}

/** Makes the logger of a service; an unknown level is `info`. Fields that hold secrets or whole uids are replaced. */
export function createLogger({ service, level }: { service: string; level: string }, sink?: LogSink): Logger {
  const paths = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`])
  const options = {
    level: LEVELS.includes(level) ? level : 'info',
    base: { service, pid: process.pid },
    redact: { paths, censor: '***' },
    formatters: { level: (label: string) => ({ level: label }) },
  }
  return adapt(sink === undefined ? pino(options) : pino(options, sink))
}

function adapt(target: Pino): Logger {
  const told = (fields: Record<string, unknown>) =>
    fields.error instanceof Error ? { ...fields, error: describeError(fields.error) } : fields
  return {
    debug: (fields, message) => target.debug(told(fields), message),
    info: (fields, message) => target.info(told(fields), message),
    warn: (fields, message) => target.warn(told(fields), message),
    error: (fields, message) => target.error(told(fields), message),
    child: (fields) => adapt(target.child(fields)),
  }
}

function describeError(error: Error): Record<string, unknown> {
  const { name, message, stack, cause } = error
  const coded = 'code' in error ? { code: error.code } : {}
  return {
    name,
    message,
    ...coded,
    stack,
    ...(cause instanceof Error ? { cause: `${cause.name}: ${cause.message}` } : {}),
  }
}
