import { CodedError, hasCode } from '@bigtap/kernel'

/** `UNAVAILABLE`: try again later. `REJECTED`: the same values will never be taken. */
export type DbFault = 'DB_UNAVAILABLE' | 'DB_REJECTED'

/** A call to the database that failed; `data.sqlState` is PostgreSQL's code where there is one. */
export class DbError extends CodedError {
  override readonly name = 'DbError'
  declare readonly code: DbFault

  get isRetriable(): boolean {
    return this.code === 'DB_UNAVAILABLE'
  }
}

/**
 * SQLSTATE classes of what is wrong with the values or the statement itself: 22 data, 23 constraint, 42 statement, 0A
 * unsupported. Everything else (connection, shutdown, deadlock, timeout, and what is unknown) may go well the next time.
 */
const REJECTING = /^(22|23|42|0A)/
/** Prisma's own codes of the same kind: too long, constraints, missing, out of range. */
const REJECTING_PRISMA = /^(P2000|P2002|P2003|P2004|P2005|P2006|P2007|P2011|P2012|P2013|P2014|P2020|P2033)$/
const SQL_STATE = /^[0-9A-Z]{5}$/
const DEPTH_MAX = 5

/** Runs a call and turns what it throws into a `DbError`. */
export async function guarded<T>(what: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof DbError || hasCode(error, 'STALE_EPOCH')) throw error
    const codes = codesOf(error)
    const isRejected = codes.some((code) => REJECTING.test(code) || REJECTING_PRISMA.test(code)) || isBadValue(error)
    throw new DbError({
      code: isRejected ? 'DB_REJECTED' : 'DB_UNAVAILABLE',
      message: `${what} failed: ${error instanceof Error ? lastLine(error.message) : String(error)}`,
      data: { sqlState: codes.find((code) => SQL_STATE.test(code) && !code.startsWith('P2')) },
      cause: error,
    })
  }
}

/** Numbers that no column can hold, and queries that Prisma finds malformed before it sends them. */
function isBadValue(error: unknown): boolean {
  return error instanceof RangeError || (error instanceof Error && error.name === 'PrismaClientValidationError')
}

/** All codes along the chain of causes; Prisma keeps the driver's deep inside `meta`. */
function codesOf(error: unknown, depth = 0): string[] {
  if (typeof error !== 'object' || error === null || depth > DEPTH_MAX) return []
  const { code, originalCode, cause, meta, driverAdapterError } = error as Record<string, unknown>
  const own = [code, originalCode].filter((value) => typeof value === 'string')
  return [...own, ...[cause, meta, driverAdapterError].flatMap((inner) => codesOf(inner, depth + 1))]
}

/** Prisma's messages show the calling code first; the reason stands at the end. */
function lastLine(message: string): string {
  return message.trimEnd().split('\n').at(-1)?.trim() ?? message
}
