/** Small checks from which the documents' parsers are made; each adds what is wrong to one list. */

/** A parsed document, or everything that is wrong with it. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; errors: string[] }

/** A number's bounds; whole unless `fraction`. */
export interface NumberBounds {
  readonly min: number
  readonly max: number
  readonly fraction?: boolean
  readonly initial?: number
}

// The last instant that a Date can hold.
const MS_MAX = 8_640_000_000_000_000
/** Control characters and halves of surrogate pairs. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u

/** Reads the fields of one JSON object and collects the errors. */
export class Fields {
  readonly errors: string[] = []
  readonly #fields: Record<string, unknown>
  readonly #path: string

  constructor(value: unknown, path = '') {
    this.#path = path
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (!isObject) this.errors.push(`${path || 'document'} is not an object but ${show(value)}`)
    this.#fields = isObject ? (value as Record<string, unknown>) : {}
  }

  /** The raw field. */
  raw(name: string): unknown {
    return this.#fields[name]
  }

  /** A number within its bounds. */
  number(name: string, { min, max, fraction = false, initial }: NumberBounds): number {
    const value = this.#given(name, initial)
    if (typeof value === 'number' && value >= min && value <= max && (fraction || Number.isInteger(value))) return value
    return this.#wrong(name, `a ${fraction ? '' : 'whole '}number from ${min} to ${max}`, min)
  }

  /** Like `number`, where null (or an absent field with `initial: null`) means "none". */
  numberOrNull(name: string, bounds: Omit<NumberBounds, 'initial'>): number | null {
    return this.#fields[name] === null || this.#fields[name] === undefined ? null : this.number(name, bounds)
  }

  /** A whole number from 1 to 2^53 - 1. */
  id(name: string): number {
    return this.number(name, { min: 1, max: Number.MAX_SAFE_INTEGER })
  }

  /** Ms since the epoch. */
  time(name: string): number {
    return this.number(name, { min: 0, max: MS_MAX })
  }

  /** A text without control characters, which PostgreSQL and terminals do not take well; empty only where `initial` is. */
  text(name: string, lengthMax: number, initial?: string): string {
    const value = this.#given(name, initial)
    const isText = typeof value === 'string' && value.length <= lengthMax && !UNPRINTABLE.test(value)
    if (isText && (value !== '' || initial === '')) return value
    return this.#wrong(name, `a printable text of ${initial === '' ? 0 : 1} to ${lengthMax} characters`, '')
  }

  /** A text of a given form, which `wanted` says in words. */
  textLike(name: string, form: RegExp, wanted: string, initial?: string): string {
    const value = this.#given(name, initial)
    return typeof value === 'string' && form.test(value) ? value : this.#wrong(name, wanted, '')
  }

  /** True or false. */
  boolean(name: string, initial?: boolean): boolean {
    const value = this.#given(name, initial)
    return typeof value === 'boolean' ? value : this.#wrong(name, 'true or false', false)
  }

  /** One of a closed set of texts. */
  oneOf<T extends string>(name: string, values: readonly T[], initial?: T): T {
    const value = this.#given(name, initial)
    if ((values as readonly unknown[]).includes(value)) return value as T
    return this.#wrong(name, `one of ${values.join(', ')}`, values[0] as T)
  }

  /** A list, absent is empty; the errors of its items join ours. */
  list<T>(name: string, countMax: number, read: (item: unknown, path: string) => Parsed<T>): T[] {
    const value = this.#given(name, [])
    if (!Array.isArray(value) || value.length > countMax) return this.#wrong(name, `a list of at most ${countMax}`, [])
    return value.flatMap((item, index) => {
      const parsed = read(item, `${this.#path}${name}[${index}]`)
      if (parsed.ok) return [parsed.value]
      this.errors.push(...parsed.errors)
      return []
    })
  }

  /** A nested document, absent is `initial`; its errors join ours. */
  nested<T>(name: string, read: (value: unknown, path: string) => Parsed<T>, initial: T): T {
    if (this.#fields[name] === undefined) return initial
    const parsed = read(this.#fields[name], `${this.#path}${name}`)
    if (parsed.ok) return parsed.value
    this.errors.push(...parsed.errors)
    return initial
  }

  /** The document, if nothing was wrong. */
  done<T>(value: T): Parsed<T> {
    return this.errors.length === 0 ? { ok: true, value } : { ok: false, errors: this.errors }
  }

  /** An absent field has the default; null is a value like any other, and mostly a wrong one. */
  #given(name: string, initial: unknown): unknown {
    const value = this.#fields[name]
    return value === undefined ? initial : value
  }

  #wrong<T>(name: string, wanted: string, stand: T): T {
    this.errors.push(`${this.#path}${this.#path ? '.' : ''}${name} must be ${wanted}, not ${show(this.#fields[name])}`)
    return stand
  }
}

/** Says a value in an error, cut to 60 characters; never throws, whatever the value is. */
export function show(value: unknown): string {
  if (value === undefined) return 'missing'
  if (typeof value === 'number') return String(value) // JSON would call NaN and the infinities null
  const text = jsonOf(value) ?? typeof value
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined // a circle, or a bigint: it did not come from JSON, and its type says enough
  }
}
