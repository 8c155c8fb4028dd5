import { describe, expect, test } from 'vitest'
import { classify } from './answer-class.ts'
import { type BuyerPlan, planPerson } from './buyer-plan.ts'
import type { Profile } from './profiles.ts'
import { CrowdStats } from './stats.ts'
import { Visit } from './visit.ts'

const planOf = (profile: Profile): BuyerPlan => ({
  ...planPerson(1, { buyers: 1, bots: 0, skus: 1, seed: 1 }, () => 0.5),
  profile,
})

/** A buyer who comes, is answered so, and leaves. */
function visit(stats: CrowdStats, profile: Profile, ...answers: [status: number, code?: string][]): void {
  const visit = new Visit(planOf(profile), 's')
  for (const [status, code] of answers) {
    const kind = classify(status, code)
    visit.note(kind, status)
    stats.onAnswer(visit.plan, kind, 1, 1)
  }
  stats.onEnd(visit)
}

describe('crowd statistics', () => {
  test.each([
    [200, undefined, 'granted'],
    [202, undefined, 'queued'],
    [410, 'sold_out', 'soldOut'],
    [409, 'already_bought', 'refused'],
    [425, 'not_started', 'refused'],
    [403, 'blocked', 'blocked'],
    [429, 'rate_limited', 'rateLimited'],
    [503, 'overloaded', 'overloaded'],
    [503, 'unavailable', 'error'],
    [400, 'bad_ticket', 'refused'],
    [404, 'not_found', 'error'],
    [500, undefined, 'error'],
    [0, undefined, 'error'],
  ])('an answer %i %s counts as %s', (status, code, expected) => {
    expect(classify(status, code)).toBe(expected)
  })

  test('percentiles are at most one bucket above the true value', () => {
    const stats = new CrowdStats()
    for (let ms = 1; ms <= 1000; ms++) stats.onAnswer(planOf('normal'), 'queued', ms, ms)

    const { p50, p99, max } = stats.latency()

    expect(p50).toBeGreaterThanOrEqual(500)
    expect(p50).toBeLessThanOrEqual(525)
    expect(p99).toBeGreaterThanOrEqual(990)
    expect(max).toBe(1000)
  })

  test('a buyer who ends shed, limited or blocked was not served, one who was told to wait on the way was', () => {
    const stats = new CrowdStats()
    visit(stats, 'normal', [503, 'overloaded'], [202], [410])
    visit(stats, 'refresher', [429], [200], [429])
    visit(stats, 'shared', [202], [503, 'overloaded'])
    visit(stats, 'shared', [403, 'blocked'])

    expect(stats.normalServedRatio()).toBe(0.5)
    expect(stats.wronglyBlocked()).toBe(1)
    expect(stats.profiles().shared).toMatchObject({ buyers: 2, asks: 3, blocked: 1, shed: 1, servedRatio: 0 })
  })

  test('what machines do changes nothing about how people were served', () => {
    const stats = new CrowdStats()
    visit(stats, 'normal', [200])
    visit(stats, 'script', [200], [429], [429], [403, 'blocked'])
    visit(stats, 'farm', [403, 'blocked'])

    expect(stats.normalServedRatio()).toBe(1)
    expect(stats.wronglyBlocked()).toBe(0)
    expect(stats.abusiveAdmittedRatio()).toBe(0.2)
    expect(stats.abusiveAdmittedRatio(['script'])).toBe(0.25)
    expect(stats.abusiveAdmittedRatio(['farm'])).toBe(0)
  })

  test('a challenge and a ticket that ran out are questions back, and answer nobody', () => {
    const stats = new CrowdStats()
    visit(stats, 'normal', [428])
    visit(stats, 'normal', [400, 'bad_ticket'])

    expect(stats.normalServedRatio()).toBe(0)
    expect(stats.profiles().normal?.challenged).toBe(1)
  })
})
