/** What operators say of a subject, read and checked. Pure. */

import {
  BLOCKED_TIER,
  Fields,
  type Parsed,
  parseId,
  SUBJECT_KINDS,
  type SubjectKind,
  show,
  TIER_COUNT,
  type Tier,
} from '@bigtap/domain'

/** A subject: `uid:7`, `ip:10.0.0.1`, `subnet:10.0.0`, `device:1f`. */
export interface Subject {
  readonly kind: SubjectKind
  readonly key: string
}

/** A verdict as an operator asks for it. */
export interface VerdictWish extends Subject {
  readonly tier: Tier
  readonly reason: string
  readonly minutes: number
  readonly isShadow: boolean
}

/** Limits of a wish. */
export const WISH_LIMITS = { reasonChars: 200, minutesMax: 10_080, keyChars: 64 } as const

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const FORMS: Readonly<Record<Exclude<SubjectKind, 'uid'>, RegExp>> = {
  ip: new RegExp(`^(?:${OCTET}(?:\\.${OCTET}){3}|(?=.*:)[0-9a-f:.]{2,45})$`),
  subnet: new RegExp(`^(?:${OCTET}(?:\\.${OCTET}){2}|[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){3})$`),
  device: /^[1-9a-f][0-9a-f]{0,13}$/,
}
const WANTED: Readonly<Record<SubjectKind, string>> = {
  uid: 'uid:NUMBER',
  ip: 'ip:ADDRESS',
  subnet: 'subnet:A.B.C, or the first four groups of an IPv6 address',
  device: 'device:HEX',
}

/** Reads a subject by its name. */
export function readSubject(text: unknown): Parsed<Subject> {
  const bad = (wanted: string): Parsed<Subject> => ({
    ok: false,
    errors: [`subject must be ${wanted}, not ${show(text)}`],
  })
  if (typeof text !== 'string' || text.length > WISH_LIMITS.keyChars) return bad(Object.values(WANTED).join('; '))
  const at = text.indexOf(':')
  const kind = SUBJECT_KINDS.find((one) => one === text.slice(0, at))
  if (kind === undefined) return bad(Object.values(WANTED).join('; '))
  const key = text.slice(at + 1)
  return isKey(kind, key) ? { ok: true, value: { kind, key } } : bad(WANTED[kind])
}

/** Reads a verdict; errors are said all at once. Tier 5 blocks, and nobody is blocked for a neighbour: only a uid can have it. */
export function readVerdictWish(input: unknown): Parsed<VerdictWish> {
  const fields = new Fields(input)
  const subject = readSubject(fields.raw('subject'))
  if (!subject.ok) fields.errors.push(...subject.errors)
  const { kind, key } = subject.ok ? subject.value : { kind: 'uid' as const, key: '' }
  const tierMax = kind === 'uid' ? TIER_COUNT - 1 : BLOCKED_TIER - 1
  const wish = {
    ...{ kind, key },
    tier: fields.number('tier', { min: 0, max: tierMax }) as Tier,
    reason: fields.text('reason', WISH_LIMITS.reasonChars),
    minutes: fields.number('minutes', { min: 1, max: WISH_LIMITS.minutesMax }),
    isShadow: fields.boolean('isShadow', false),
  }
  return fields.done(wish)
}

function isKey(kind: SubjectKind, key: string): boolean {
  if (kind === 'uid') return /^[1-9]\d{0,15}$/.test(key) && parseId(Number(key)) !== undefined
  return FORMS[kind].test(key)
}
