import { CodedError } from '@bigtap/kernel'
import type { LogRecord } from './port.ts'

/** `FULL`: consumers are too far behind. `TOO_LARGE`: no log takes that. `CLOSED`: by ourselves. */
export type LogFault = 'LOG_UNAVAILABLE' | 'LOG_TIMEOUT' | 'LOG_FULL' | 'LOG_TOO_LARGE' | 'LOG_CLOSED'

/** A call to the log that failed. */
export class LogError extends CodedError {
  override readonly name = 'LogError'
  declare readonly code: LogFault

  get isRetriable(): boolean {
    return this.code !== 'LOG_TOO_LARGE' && this.code !== 'LOG_CLOSED'
  }
}

/** Most records of one send. */
export const SEND_RECORDS_MAX = 10_000
/** Most bytes of a value: below the 1 MiB that a Kafka broker takes as a whole. */
export const VALUE_BYTES_MAX = 1_000_000

/** Refuses what one of the adapters could not take. */
export function checkRecords(records: readonly LogRecord[]): void {
  if (records.length > SEND_RECORDS_MAX) throw tooLarge(`${records.length} records exceed ${SEND_RECORDS_MAX}`)
  for (const { value } of records)
    if (value.length > VALUE_BYTES_MAX) throw tooLarge(`a value of ${value.length} bytes exceeds ${VALUE_BYTES_MAX}`)
}

/** The promise, or LOG_TIMEOUT. What was sent may arrive all the same. */
export async function withinTime<T>(what: string, msMax: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const fault = { code: 'LOG_TIMEOUT', message: `${what} took longer than ${msMax} ms`, data: { msMax } }
    timer = setTimeout(() => reject(new LogError(fault)), msMax)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Any error of a client library as a fault. */
export function asLogError(what: string, error: unknown): LogError {
  if (error instanceof LogError) return error
  const message = `${what} failed: ${error instanceof Error ? error.message : String(error)}`
  return new LogError({ code: 'LOG_UNAVAILABLE', message, cause: error })
}

function tooLarge(message: string): LogError {
  return new LogError({ code: 'LOG_TOO_LARGE', message })
}
