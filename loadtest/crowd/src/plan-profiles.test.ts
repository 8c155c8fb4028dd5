import { SeededRandom } from '@bigtap/testkit'
import { describe, expect, test } from 'vitest'
import type { BuyerPlan } from './buyer-plan.ts'
import { labelLines, labelsOf } from './labels.ts'
import { planCrowd } from './plan.ts'
import { ABUSIVE_ASKS_PER_SECOND, abuseMsOf, type ProfileSettings } from './plan-profiles.ts'
import { isAbusive, mixesOf, type Profile, seatsOf } from './profiles.ts'

const mixed: ProfileSettings = { buyers: 5_000, bots: 0.8, skus: 3, seed: 11, profile: 'mixed' }
const planOf = (settings: ProfileSettings): BuyerPlan[] => {
  const random = new SeededRandom(settings.seed)
  return planCrowd(settings, () => random.next())
}
const of = (plans: readonly BuyerPlan[], profile: Profile) => plans.filter((plan) => plan.profile === profile)
const addressesOf = (plans: readonly BuyerPlan[]) => new Set(plans.flatMap(({ origin }) => origin?.addresses ?? []))
const idsOf = (plans: readonly BuyerPlan[]) => new Set(plans.map(({ origin }) => origin?.device.id))
const devicesOf = (plans: readonly BuyerPlan[]) => new Set(plans.map(({ origin }) => origin?.device.userAgent))

describe('a crowd of profiles', () => {
  test('is the same crowd for the same seed, and another for another', () => {
    expect(planOf(mixed)).toEqual(planOf(mixed))
    expect(planOf({ ...mixed, seed: 12 })).not.toEqual(planOf(mixed))
  })

  test('has the stated shares, and the asked share of abuse', () => {
    const plans = planOf(mixed)
    const counts = Object.fromEntries([...new Set(plans.map((p) => p.profile))].map((p) => [p, of(plans, p).length]))

    expect(counts).toEqual({
      ...{ normal: 700, refresher: 150, shared: 150 },
      ...{ script: 1_400, farm: 1_600, sharer: 400, guesser: 400, slow: 200 },
    })
    expect(plans.filter(({ profile }) => isAbusive(profile))).toHaveLength(4_000)
  })

  test.each([1, 7, 99, 1_001])('gives every one of %i seats to somebody', (count) => {
    const { honest, abusive } = mixesOf('mixed')
    for (const mix of [honest, abusive])
      expect([...seatsOf(mix, count).values()].reduce((a, b) => a + b, 0)).toBe(count)
  })

  test('of one profile has that profile, and the mix on the other side', () => {
    const farm = planOf({ ...mixed, profile: 'farm' })
    const shared = planOf({ ...mixed, profile: 'shared' })

    expect(of(farm, 'farm')).toHaveLength(4_000)
    expect(of(farm, 'refresher')).toHaveLength(150)
    expect(of(shared, 'shared')).toHaveLength(1_000)
    expect(of(shared, 'script')).toHaveLength(1_400)
  })

  test('comes from 127.0.0.0/8, and never from an address that the platform has', () => {
    for (const address of addressesOf(planOf(mixed))) {
      expect(address).toMatch(/^127\.([1-9]\d?|1\d\d|2[0-4]\d|25[0-4])\.\d{1,3}\.\d{1,3}$/)
    }
  })

  test('people have addresses of their own, few to a household, and devices of many kinds', () => {
    const people = of(planOf(mixed), 'normal')
    const perAddress = new Map<string, number>()
    for (const address of people.flatMap(({ origin }) => origin?.addresses ?? []))
      perAddress.set(address, (perAddress.get(address) ?? 0) + 1)

    expect(perAddress.size).toBeGreaterThan(450)
    expect(Math.max(...perAddress.values())).toBeLessThanOrEqual(4)
    expect(devicesOf(people).size).toBeGreaterThan(60)
    expect(idsOf(people).size).toBe(700)
  })

  test('many buyers share one address, with devices as people have them', () => {
    const shared = of(planOf(mixed), 'shared')

    expect(addressesOf(shared).size).toBe(1)
    expect(devicesOf(shared).size).toBeGreaterThan(40)
  })

  test('scripts sit on few addresses, farms on many with few devices, and neither on a home that people have', () => {
    const plans = planOf(mixed)
    const homes = addressesOf([...of(plans, 'normal'), ...of(plans, 'refresher'), ...of(plans, 'shared')])
    const [script, farm] = [of(plans, 'script'), of(plans, 'farm')]

    expect(addressesOf(script).size).toBe(2)
    expect(addressesOf(farm).size).toBeGreaterThan(400)
    expect(devicesOf(farm).size).toBeLessThanOrEqual(3)
    expect(idsOf(farm).size).toBe(3)
    for (const address of addressesOf([...script, ...farm])) expect(homes.has(address)).toBe(false)
  })

  test('those who share an account have one uid and an address each', () => {
    const sharers = of(planOf(mixed), 'sharer')

    expect(new Set(sharers.map(({ uid }) => uid)).size).toBe(Math.ceil(400 / 30))
    expect(addressesOf(sharers).size).toBe(400)
    const first = sharers.filter(({ uid }) => uid === sharers[0]?.uid).map(({ arriveMs }) => arriveMs)
    expect(Math.max(...first) - Math.min(...first)).toBeLessThan(8_000)
  })

  test('abuse comes at the stated pace, however many seats there are', () => {
    for (const buyers of [20_000, 40_000]) {
      const settings = { ...mixed, buyers, bots: 0.9 }
      const asks = planOf(settings)
        .filter(({ profile }) => isAbusive(profile))
        .reduce((sum, { clicks, botAsks }) => sum + clicks * botAsks, 0)
      const perSecond = asks / (abuseMsOf(settings) / 1_000)

      expect(perSecond).toBeGreaterThan(ABUSIVE_ASKS_PER_SECOND * 0.97)
      expect(perSecond).toBeLessThan(ABUSIVE_ASKS_PER_SECOND * 1.03)
    }
  })

  test('is labelled, each uid once', () => {
    const plans = planOf(mixed)
    const labels = labelsOf(plans)
    const first = JSON.parse(labelLines(plans).split('\n')[0] ?? '')

    expect(labels).toHaveLength(new Set(plans.map(({ uid }) => uid)).size)
    expect(labels.filter((label) => !label.isAbusive)).toHaveLength(1_000)
    expect(Object.keys(first)).toEqual(['uid', 'profile', 'isAbusive'])
  })
})
