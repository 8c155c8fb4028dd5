/**
 * Who comes to the sale, when, and how each behaves: drawn once from the seed, so that two runs with one seed have the
 * same crowd. Arrivals are an open model: they are fixed before the sale and do not wait for its answers.
 */

import { type BuyerPlan, botCountOf, type CrowdSettings, type Draw, pick, planPerson, uidOf } from './buyer-plan.ts'
import { planProfiles } from './plan-profiles.ts'

/** Draws the crowd, sorted by arrival. */
export function planCrowd(settings: CrowdSettings, draw: Draw): BuyerPlan[] {
  const { profile } = settings
  const plans = profile === undefined ? planPlain(settings, draw) : planProfiles({ ...settings, profile }, draw)
  return plans.sort((a, b) => a.arriveMs - b.arriveMs)
}

function planPlain(settings: CrowdSettings, draw: Draw): BuyerPlan[] {
  const botCount = botCountOf(settings)
  return Array.from({ length: settings.buyers }, (_, index) => {
    const uid = uidOf(settings.seed, index)
    return index < botCount ? planBot(uid, settings, draw) : planPerson(uid, settings, draw)
  })
}

function planBot(uid: number, { skus }: CrowdSettings, draw: Draw): BuyerPlan {
  return {
    uid,
    kind: 'bot',
    profile: 'script',
    origin: undefined,
    skuIndex: pick(draw, skus),
    arriveMs: -200 + draw() * 1_200,
    clicks: draw() < 0.3 ? 3 : 1,
    botAsks: 3 + pick(draw, 6),
    botEveryMs: 100 + draw() * 300,
    refreshMs: 0,
    hurries: 0,
    hurryMs: 0,
    patienceMs: 8_000,
    leavesToken: draw() < 0.3,
    pays: draw() >= 0.4,
    cancels: draw() < 0.05,
    repeatsCart: draw() < 0.5,
    thinkMs: 0,
  }
}
