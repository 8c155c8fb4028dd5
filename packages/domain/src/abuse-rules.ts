/** Document `abuse:rules`: what antiblack counts as abuse, beside what its model says. */

import { SUBJECT_KINDS, type SubjectKind, type Tier } from './abuse.ts'
import { Fields, type Parsed } from './checks.ts'

/** Key of the document. */
export const ABUSE_RULES_KEY = 'abuse:rules'

/** Windows over which antiblack counts, seconds. */
export const ABUSE_WINDOWS_SECONDS = [1, 10, 60] as const

/** Figures that are counted for each subject: sums of its requests. */
export const ABUSE_COUNTS = [
  /** Requests of any call. */
  'asks',
  /** Asked for the same product again much sooner than told (or sooner than anybody is told), and faster than a person. */
  'hasty',
  /** Asked again before 70 % of the time that was told; people who press reload do it too, if more slowly than machines. */
  'ignored',
  /** The third and every further request of one click. */
  'volleys',
  'rateLimited',
  /** Tickets or challenge answers that nobody has given out: bad signatures, foreign tickets. */
  'forged',
  /** Before the opening, or before the time that was told. */
  'early',
  /** Tickets that have run out; a person takes a new one then. */
  'expired',
  'impossible',
  'honeypot',
  /** Paths that do not exist, requests that cannot be read. */
  'unknown',
  /** Asked again after the last word on this product (granted, sold out, refused). */
  'afterLast',
  /** Hasty, volleys, forged and honeypot together. */
  'misdeeds',
] as const
/** One of the counts. */
export type AbuseCount = (typeof ABUSE_COUNTS)[number]

/** Figures that are numbers of different others, by sketches over the last 30 to 60 s. */
export const ABUSE_DISTINCTS = [
  /** Of a uid: addresses and devices that it was seen with. */
  'addresses',
  'devices',
  /** Of an address, a subnet or a device: buyers, and those of them with four misdeeds within a minute. */
  'uids',
  'badUids',
] as const
/** One of the numbers of different others. */
export type AbuseDistinct = (typeof ABUSE_DISTINCTS)[number]

/** What a rule may look at. */
export type AbuseFigure = AbuseCount | AbuseDistinct

/** One rule: who has `threshold` or more of `figure` within the window is graded `tier` for `forSeconds`. */
export interface AbuseRule {
  /** Unique, kebab-case; operators and metrics know the rule by it. */
  readonly name: string
  readonly kind: SubjectKind
  /** 1, 10 or 60; a number of different others has 60. */
  readonly windowSeconds: number
  readonly figure: AbuseFigure
  readonly threshold: number
  /** 1 to 5 for a uid, 1 to 4 for all others. */
  readonly tier: Tier
  readonly forSeconds: number
  /** In words, for operators. */
  readonly reason: string
}

/** The rules; see `parseAbuseRules`. */
export interface AbuseRulesDoc {
  readonly version: number
  /** Verdicts are shown and counted, and change nothing. */
  readonly isShadow: boolean
  /** All are looked at; the worst tier that one of them gives counts. */
  readonly rules: readonly AbuseRule[]
}

/** Most rules of the document: each costs one look at a count per judged subject. */
export const ABUSE_RULES_MAX = 64

const UID_DISTINCTS: readonly string[] = ['addresses', 'devices']
const GROUP_DISTINCTS: readonly string[] = ['uids', 'badUids']

/** In force until an operator publishes others. The model finds most; these are for what needs no weighing. */
export const DEFAULT_ABUSE_RULES: AbuseRulesDoc = {
  version: 1,
  isShadow: false,
  rules: [
    rule('honeypot', 'uid', 60, 'honeypot', 1, 5, 600, 'asked for a path that only a script can see'),
    rule('forged-tickets', 'uid', 60, 'forged', 5, 4, 120, 'sent tickets that nobody has given out'),
    rule('forger', 'uid', 60, 'forged', 20, 5, 300, 'sends one ticket after the other that nobody has given out'),
    rule('impossible-timing', 'uid', 60, 'impossible', 120, 4, 120, 'asks faster than anybody can, twice a second'),
    rule('old-tickets', 'uid', 60, 'expired', 6, 4, 120, 'asks on with a ticket that has run out'),
    rule('older-tickets', 'uid', 60, 'expired', 9, 5, 300, 'asks on and on with a ticket that has run out'),
    rule('unknown-paths', 'uid', 60, 'unknown', 20, 4, 120, 'tried paths that do not exist'),
    rule('many-addresses', 'uid', 60, 'addresses', 8, 5, 300, 'one buyer at eight addresses within a minute'),
    rule('some-addresses', 'uid', 60, 'addresses', 5, 3, 120, 'one buyer at five addresses within a minute'),
    rule('relentless', 'uid', 60, 'hasty', 120, 5, 300, 'asks again faster than told, all the time'),
    rule('machine-pace', 'uid', 10, 'hasty', 12, 4, 60, 'asks again faster than told, time after time'),
    rule('hasty', 'uid', 10, 'hasty', 6, 3, 60, 'asks again faster than told'),
    rule('volleys', 'uid', 60, 'volleys', 8, 4, 120, 'three and more requests by one click'),
    rule('bad-address', 'ip', 60, 'badUids', 8, 3, 60, 'eight buyers who misbehave at one address'),
    rule('forging-address', 'ip', 10, 'forged', 30, 3, 60, 'an address that sends forged tickets'),
    rule('bad-subnet', 'subnet', 60, 'badUids', 24, 2, 60, 'many buyers who misbehave in one subnet'),
    rule('bad-device', 'device', 60, 'badUids', 24, 2, 60, 'many buyers who misbehave with one device'),
  ],
}

/** Reads document `abuse:rules`; it is refused whole, with all that is wrong with it. Without `rules` it has the default ones. */
export function parseAbuseRules(value: unknown): Parsed<AbuseRulesDoc> {
  const fields = new Fields(value)
  const version = fields.id('version')
  const isShadow = fields.boolean('isShadow', false)
  const isGiven = fields.raw('rules') !== undefined
  const rules = isGiven ? fields.list('rules', ABUSE_RULES_MAX, parseRule) : DEFAULT_ABUSE_RULES.rules
  const names = rules.map(({ name }) => name)
  const twice = names.filter((name, index) => names.indexOf(name) < index)
  fields.errors.push(...[...new Set(twice)].map((name) => `rules: the name ${name} is there more than once`))
  return fields.done({ version, isShadow, rules })
}

function parseRule(value: unknown, path: string): Parsed<AbuseRule> {
  const fields = new Fields(value, path)
  const kind = fields.oneOf('kind', SUBJECT_KINDS)
  const windowSeconds = fields.number('windowSeconds', { min: 1, max: 60 })
  const figure = fields.oneOf<AbuseFigure>('figure', [...ABUSE_COUNTS, ...ABUSE_DISTINCTS])
  const parsed = {
    name: fields.textLike('name', /^[a-z][a-z0-9-]{0,39}$/, 'a name of 1 to 40 small letters, digits and hyphens'),
    kind,
    windowSeconds,
    figure,
    threshold: fields.number('threshold', { min: 1, max: 1e9, fraction: true }),
    tier: fields.number('tier', { min: 1, max: kind === 'uid' ? 5 : 4 }) as Tier,
    forSeconds: fields.number('forSeconds', { min: 5, max: 86_400 }),
    reason: fields.text('reason', 120),
  }
  fields.errors.push(...mismatches(parsed, path))
  return fields.done(parsed)
}

function mismatches({ kind, figure, windowSeconds }: AbuseRule, path: string): string[] {
  const isDistinct = (ABUSE_DISTINCTS as readonly string[]).includes(figure)
  const foreign = kind === 'uid' ? GROUP_DISTINCTS : UID_DISTINCTS
  const errors: string[] = []
  if (foreign.includes(figure)) errors.push(`${path}.figure ${figure} is not counted for kind ${kind}`)
  if (!(ABUSE_WINDOWS_SECONDS as readonly number[]).includes(windowSeconds)) {
    errors.push(`${path}.windowSeconds must be one of ${ABUSE_WINDOWS_SECONDS.join(', ')}, not ${windowSeconds}`)
  } else if (isDistinct && windowSeconds !== 60) {
    errors.push(`${path}.windowSeconds must be 60 for ${figure}, not ${windowSeconds}`)
  }
  return errors
}

function rule(
  name: string,
  kind: SubjectKind,
  windowSeconds: number,
  figure: AbuseFigure,
  threshold: number,
  tier: Tier,
  forSeconds: number,
  reason: string,
): AbuseRule {
  return { name, kind, windowSeconds, figure, threshold, tier, forSeconds, reason }
}
