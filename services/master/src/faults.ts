import { CodedError } from '@bigtap/kernel'

/** Runs a bare call of Redis; what it throws becomes a CodedError STORE_UNAVAILABLE. */
export async function onRedis<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof CodedError) throw error
    const message = error instanceof Error ? error.message : String(error)
    throw new CodedError({ code: 'STORE_UNAVAILABLE', message: `redis: ${message}`, cause: error })
  }
}

const AWAY = ['DB_UNAVAILABLE', 'STORE_UNAVAILABLE', 'STORE_FAILED', 'LEDGER_IN_DOUBT', 'LEDGER_UNKNOWN', 'STALE_GUARD']

/** Is this a fault of something that will be back? */
export function isAway(error: unknown): boolean {
  return error instanceof CodedError && AWAY.includes(error.code)
}
