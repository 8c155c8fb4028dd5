import { DbError } from './errors.ts'

/** A BIGINT of the database as a number; one that a number cannot hold is a fault, never rounded. */
export function toNumber(value: bigint | string | number): number {
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw new DbError({ code: 'DB_REJECTED', message: `value ${value} is beyond 2^53 - 1`, data: { value: `${value}` } })
}
