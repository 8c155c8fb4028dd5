/** When good buyers speak for an address, a subnet or a device that bad ones use as well. */

import type { Subjects } from './subjects.ts'

/** Good buyers (seen, and without misdeeds) behind an address that take every verdict from it, and their least share. */
const GOOD_UIDS_MIN = 3
const GOOD_SHARE_MIN = 0.3
/** From so many on a sketch counts too roughly to compare two of them; who is shared by so many is never graded. */
const BIT_LOAD_MAX = 3

/** Do good buyers behind an address, a subnet or a device speak for it? `all`: nothing may be said against it. */
export function mercyOf(group: Subjects, place: number, now: number): 'none' | 'some' | 'all' {
  const uids = group.first.estimate(place, now)
  const good = uids - group.second.estimate(place, now)
  if (uids > group.first.bits * BIT_LOAD_MAX) return 'all'
  if (good >= GOOD_UIDS_MIN && good >= uids * GOOD_SHARE_MIN) return 'all'
  return good >= 1 ? 'some' : 'none'
}
