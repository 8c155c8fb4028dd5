/** Faults are coded errors with their values; bugs are assertions that stay in production. */

/** Thrown when the program itself is wrong. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError'
}

/**
 * Throws when a condition that must hold does not. On a hot path the message is a constant: a text with values in it
 * would be built at every call (60 bytes and more), also when all is well.
 */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

/** What a fault is made of: a stable code, the values, and what caused it. */
export interface Fault {
  readonly code: string
  readonly message: string
  readonly data?: Record<string, unknown>
  readonly cause?: unknown
}

/** Base of every fault: something outside the program went wrong. */
export class CodedError extends Error {
  override readonly name: string = 'CodedError'
  readonly code: string
  readonly data: Record<string, unknown>

  constructor({ code, message, data = {}, cause }: Fault) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.data = data
  }
}

/** Is this a fault of the given code? */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof CodedError && error.code === code
}
