import {
  type ActivityDoc,
  DEFAULT_POLICY,
  DEFAULT_WAITING,
  type Figures,
  NO_CHALLENGE,
  NO_FIGURES,
  NO_RESERVATION,
  type SkuDoc,
  VERDICT,
} from '@bigtap/domain'
import { expect, test } from 'vitest'
import { stepRelease } from './release.ts'
import { GATE_OPEN, GATE_QUEUED, SkuTable } from './sku-table.ts'

const OPENS = 1_800_000_000_000
const activity: ActivityDoc = {
  ...{
    id: 1,
    title: 'a',
    state: 'armed',
    stage: 'middle',
    opensAt: OPENS,
    closesAt: OPENS + 60_000,
    rule: 'once-per-product',
  },
  ...{
    admission: 'direct',
    waiting: DEFAULT_WAITING,
    challenge: NO_CHALLENGE,
    reservation: NO_RESERVATION,
    skuIds: [1],
    accessLimits: [],
  },
}
const doc: SkuDoc = {
  ...{ id: 1, activityId: 1, title: 's', priceCents: 1, currency: 'CNY', imageUrl: '', stock: 100, limitPerBuyer: 1 },
  ...{ policy: { ...DEFAULT_POLICY, taperAt: 0.1, trickleAt: 2 }, paused: false },
}
const figuresOf = (free: number, held = 0, outstanding = 0): Figures => ({
  ...NO_FIGURES,
  ...{
    stock: 100,
    free,
    held,
    sold: 100 - free - held,
    quota: 100,
    pool: free - outstanding,
    outstanding,
    redeemed: 100 - free,
  },
})

function table(): { skus: SkuTable; sku: number } {
  const skus = new SkuTable()
  return { skus, sku: skus.add(1, 1) }
}

test('a sku goes through all its states as the figures say', () => {
  const { skus, sku } = table()
  const seen: [string, number][] = []
  const step = (facts: { figures?: Figures; now?: number; activity?: ActivityDoc; doc?: SkuDoc }) => {
    stepRelease(skus, sku, { figures: undefined, now: OPENS, activity, doc, ...facts })
    seen.push([skus.state[sku] ?? '', skus.gate[sku] ?? -1])
  }
  step({})
  step({ figures: figuresOf(100), now: OPENS - 10_000 })
  step({ figures: figuresOf(100) })
  step({ figures: figuresOf(10) })
  step({ figures: figuresOf(2) })
  step({ figures: figuresOf(0, 3) })
  step({ figures: figuresOf(1, 2) })
  step({ figures: figuresOf(0) })
  step({ figures: figuresOf(50) })
  step({ figures: figuresOf(50), doc: { ...doc, paused: true } })
  step({ figures: figuresOf(50) })
  step({ figures: figuresOf(50), now: OPENS + 60_000 })
  step({ figures: figuresOf(50) })

  expect(seen).toEqual([
    ['ready', VERDICT.notStarted],
    ['ready', VERDICT.notStarted],
    ['releasing', GATE_OPEN],
    ['tapering', GATE_OPEN],
    ['trickling', GATE_OPEN],
    ['exhausted', GATE_QUEUED],
    ['trickling', GATE_OPEN],
    ['soldOut', VERDICT.soldOut],
    ['releasing', GATE_OPEN],
    ['paused', VERDICT.paused],
    ['releasing', GATE_OPEN],
    ['ended', VERDICT.ended],
    ['releasing', GATE_OPEN],
  ])
})

test('a queued buyer is told when the pace will have served those before', () => {
  const { skus, sku } = table()
  skus.queued[sku] = 99 // in the last half second, each told to come back in half a second
  skus.toldMs[sku] = 99 * 500
  skus.lookedAt[sku] = OPENS - 500

  stepRelease(skus, sku, {
    ...{ activity, figures: figuresOf(100), now: OPENS },
    doc: { ...doc, policy: { ...doc.policy, pacePerSecond: 50 } },
  })

  expect(skus.ahead[sku]).toBe(99)
  expect(skus.etaMs[sku]).toBe(2_000)
  expect(skus.retryAfterMs[sku]).toBeGreaterThan(0)
})

test('skus are found after others left', () => {
  const skus = new SkuTable()
  for (let id = 1; id <= 4_096; id++) expect(skus.add(1, id)).toBe(id - 1)
  expect(skus.add(2, 1)).toBe(-1)

  for (let id = 1; id <= 4_000; id++) if (id % 7 === 0) skus.remove(id - 1)

  expect(skus.find(1, 7)).toBe(-1)
  expect(skus.find(1, 4_096)).toBe(4_095)
  expect(skus.find(1, 8)).toBe(7)
})
