/** The rules of the document, by the kind that they are about, ready to be looked at. */

import {
  ABUSE_COUNTS,
  ABUSE_WINDOWS_SECONDS,
  type AbuseRule,
  type AbuseRulesDoc,
  SUBJECT_KINDS,
  type SubjectKind,
} from '@bigtap/domain'
import type { Subjects } from './subjects.ts'

/** Who is graded already keeps the grade down to this part of a rule's threshold, so that it does not flap. */
export const KEEP_PART = 0.6

interface ReadyRule {
  readonly rule: AbuseRule
  /** Place in ABUSE_COUNTS, or FIRST or SECOND sketch. */
  readonly figure: number
  readonly window: number
}

const FIRST_SKETCH = -1
const SECOND_SKETCH = -2
const FIRSTS: readonly string[] = ['addresses', 'uids']

/** One revision of the rules. */
export class RuleSet {
  readonly doc: AbuseRulesDoc
  readonly #byKind: Readonly<Record<SubjectKind, readonly ReadyRule[]>>

  constructor(doc: AbuseRulesDoc) {
    this.doc = doc
    const ready = doc.rules.map(readyOf)
    // The worst first: the first that matches is the one that counts.
    ready.sort((one, other) => other.rule.tier - one.rule.tier || other.rule.forSeconds - one.rule.forSeconds)
    const entries = SUBJECT_KINDS.map((kind) => [kind, ready.filter(({ rule }) => rule.kind === kind)])
    this.#byKind = Object.fromEntries(entries) as Record<SubjectKind, ReadyRule[]>
  }

  /** The worst rule that the subject at `place` matches when each threshold counts `part` (0..1) of itself. */
  worst(subjects: Subjects, place: number, now: number, part = 1): AbuseRule | undefined {
    for (const ready of this.#byKind[subjects.kind]) {
      if (figureOf(ready, subjects, place, now) >= ready.rule.threshold * part) return ready.rule
    }
    return undefined
  }

  /** Names of all rules that match. */
  matching(subjects: Subjects, place: number, now: number): string[] {
    return this.#byKind[subjects.kind]
      .filter((ready) => figureOf(ready, subjects, place, now) >= ready.rule.threshold)
      .map(({ rule }) => rule.name)
  }
}

function readyOf(rule: AbuseRule): ReadyRule {
  const count = (ABUSE_COUNTS as readonly string[]).indexOf(rule.figure)
  const sketch = FIRSTS.includes(rule.figure) ? FIRST_SKETCH : SECOND_SKETCH
  const window = (ABUSE_WINDOWS_SECONDS as readonly number[]).indexOf(rule.windowSeconds)
  return { rule, figure: count >= 0 ? count : sketch, window }
}

function figureOf({ figure, window }: ReadyRule, subjects: Subjects, place: number, now: number): number {
  if (figure === FIRST_SKETCH) return subjects.first.estimate(place, now)
  if (figure === SECOND_SKETCH) return subjects.second.estimate(place, now)
  // A bucket that has just ended counts a little less than it held: a single trap must not slip through at its edge.
  return Math.round(subjects.windows.count(place, figure, window, now))
}
