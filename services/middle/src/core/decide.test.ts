import { evaluateRule, PURCHASE_RULES, VERDICT } from '@bigtap/domain'
import { SLOT_COUNT } from '@bigtap/kernel'
import { AskColumns } from '@bigtap/protocol'
import { SeededRandom } from '@bigtap/testkit'
import { expect, test } from 'vitest'
import { LINE, RECORD } from './buyer-records.ts'
import { DECISION, Decider, ruleVerdict, SLOT } from './decide.ts'
import { dropDoubts, forgetSome, settleReread, settleWrite, takeOver } from './grants.ts'
import { GATE_OPEN, GATE_QUEUED, RULE_CODE } from './sku-table.ts'

const NOW = 1_800_000_000_000
const TOKEN = '0123456789abcdef0123456789abcdef'

function selling({ rule = 2, limit = 1, available = 10, skus = 2 } = {}): Decider {
  const decider = new Decider({ recordsMax: 10_000, pendingMax: 1_000 })
  decider.slots.fill(SLOT.own)
  decider.now = NOW
  for (let id = 1; id <= skus; id++) {
    const sku = decider.skus.add(1, id)
    decider.skus.gate[sku] = GATE_OPEN
    decider.skus.isServing[sku] = 1
    decider.skus.closesAt[sku] = NOW * 2
    decider.skus.leaseUntil[sku] = NOW * 2
    decider.skus.rule[sku] = rule
    decider.skus.limitPerBuyer[sku] = limit
    decider.skus.available[sku] = available
  }
  return decider
}

function ask(decider: Decider, uid: number, skuId = 1, quantity = 1): number {
  const asks = new AskColumns(1)
  asks.push(1, uid, 1, skuId, quantity)
  return decider.decide(asks, 0)
}

function buy(decider: Decider, uid: number, skuId = 1): number {
  expect(ask(decider, uid, skuId)).toBe(DECISION.grant)
  const { record } = decider
  decider.buyers.setTokenId(record, TOKEN)
  decider.buyers.expiresAt[record] = decider.now + 60_000
  settleWrite(decider, record, 'written')
  decider.buyers.readAt[record] = decider.now
  return record
}

test('a buyer who asks again while the token lives gets the same token', () => {
  const decider = selling()
  const record = buy(decider, 7)

  expect(ask(decider, 7)).toBe(VERDICT.granted)
  expect(decider.record).toBe(record)
  expect(decider.buyers.tokenId(decider.record)).toBe(TOKEN)
  expect(decider.skus.available[0]).toBe(9)
})

test('a second ask waits while the first grant is being written', () => {
  const decider = selling()

  expect(ask(decider, 7)).toBe(DECISION.grant)
  expect(ask(decider, 7)).toBe(DECISION.wait)
  expect(ask(decider, 7, 2)).toBe(DECISION.wait)
})

test('a grant that may have been written is neither refused nor granted again', () => {
  const decider = selling()
  ask(decider, 7)
  settleWrite(decider, decider.record, 'unknown')

  expect(ask(decider, 7)).toBe(VERDICT.unavailable)

  dropDoubts(decider, () => true)
  expect(ask(decider, 7)).toBe(DECISION.grant)
})

test('a grant in doubt that is found in the log is the buyer’s', () => {
  const decider = selling()
  ask(decider, 7)
  decider.buyers.setTokenId(decider.record, TOKEN)
  settleWrite(decider, decider.record, 'unknown')

  const found = { tokenId: TOKEN, uid: 7, quantity: 1, expiresAt: NOW + 60_000, state: 'outstanding' as const }
  takeOver(decider, 0, found)

  expect(dropDoubts(decider, () => true)).toBe(0)
  expect(ask(decider, 7)).toBe(VERDICT.granted)
})

test('who bought is told so, after a look at what became of it at most once a second', () => {
  const decider = selling()
  const record = buy(decider, 7)
  settleReread(decider, record, 'redeemed')

  expect(ask(decider, 7)).toBe(VERDICT.alreadyBought)
  decider.now = NOW + 1_000
  expect(ask(decider, 7)).toBe(DECISION.reread)
  decider.mayReread = false
  expect(ask(decider, 7)).toBe(VERDICT.alreadyBought)
})

test('a buyer whose hold was given back can buy again', () => {
  const decider = selling()
  const record = buy(decider, 7)
  settleReread(decider, record, 'gone')

  expect(ask(decider, 7)).toBe(DECISION.grant)
  expect(decider.record).toBe(record)
})

test('a token that ran out is queued until the ledger says that it is dead', () => {
  const decider = selling()
  const record = buy(decider, 7)
  decider.now = NOW + 60_000
  settleReread(decider, record, 'outstanding')

  expect(ask(decider, 7)).toBe(VERDICT.queued)

  decider.now = NOW + 61_000
  expect(ask(decider, 7)).toBe(DECISION.reread)
  settleReread(decider, record, 'outstanding')
  expect(ask(decider, 7)).toBe(DECISION.grant)
})

test('the gates stand in their order', () => {
  const decider = selling()
  const { skus } = decider

  decider.slots.fill(SLOT.foreign)
  expect(ask(decider, 7)).toBe(VERDICT.notOwner)
  decider.slots.fill(SLOT.replaying)
  expect(ask(decider, 7)).toBe(VERDICT.moving)
  decider.slots.fill(SLOT.own)
  expect(ask(decider, 7, 99)).toBe(VERDICT.unknownSku)
  expect(ask(decider, 7, 1, 0)).toBe(VERDICT.ruleRefused)
  skus.gate[0] = VERDICT.paused
  expect(ask(decider, 7)).toBe(VERDICT.paused)
  skus.gate[0] = GATE_OPEN
  skus.opensAt[0] = NOW + 1
  expect(ask(decider, 7)).toBe(VERDICT.notStarted)
  skus.opensAt[0] = 0
  skus.closesAt[0] = NOW
  expect(ask(decider, 7)).toBe(VERDICT.ended)
  skus.closesAt[0] = NOW * 2
  skus.isServing[0] = 0
  expect(ask(decider, 7)).toBe(VERDICT.unavailable)
  skus.isServing[0] = 1
  skus.slots[0] = new Uint8Array(SLOT_COUNT).fill(SLOT.replaying)
  expect(ask(decider, 7)).toBe(VERDICT.moving)
  skus.slots[0].fill(SLOT.own)
  skus.gate[0] = GATE_QUEUED
  expect(ask(decider, 7)).toBe(VERDICT.queued)
  skus.gate[0] = GATE_OPEN
  skus.leaseUntil[0] = NOW
  expect(ask(decider, 7)).toBe(VERDICT.unavailable)
})

test('an empty lease queues and says so; full tables are overloaded', () => {
  const decider = selling({ available: 0 })
  expect(ask(decider, 7)).toBe(VERDICT.queued)
  expect(decider.hungry).toBe(0)

  const small = new Decider({ recordsMax: 1, pendingMax: 2 })
  expect(small.buyers.add(1, 0)).toBe(0)
  expect(small.buyers.add(2, 0)).toBe(-1)
})

test('the rule in columns is the rule of the domain', () => {
  const names = {
    allowed: VERDICT.granted,
    'already-bought': VERDICT.alreadyBought,
    'rule-refused': VERDICT.ruleRefused,
  }
  for (const rule of PURCHASE_RULES)
    for (let unitsOfSku = 0; unitsOfSku < 4; unitsOfSku++)
      for (let unitsOfOtherSkus = 0; unitsOfOtherSkus < 3; unitsOfOtherSkus++)
        for (let quantity = 1; quantity < 4; quantity++)
          for (let limitPerBuyer = 1; limitPerBuyer < 4; limitPerBuyer++) {
            const expected = names[evaluateRule(rule, { unitsOfSku, unitsOfOtherSkus, quantity, limitPerBuyer })]
            expect(ruleVerdict(RULE_CODE[rule], unitsOfSku, unitsOfOtherSkus, quantity, limitPerBuyer)).toBe(expected)
          }
})

test('a write that was refused because the slot is another’s frees the buyer, and its place is still leased', () => {
  const decider = selling({ available: 1 })
  ask(decider, 7)
  settleWrite(decider, decider.record, 'foreign')

  expect(decider.skus.available[0]).toBe(1)
  expect(ask(decider, 7)).toBe(DECISION.grant)
})

const forgetAll = (decider: Decider, isUnwanted: (record: number) => boolean) => {
  const walk = { from: 0, busy: 0 }
  while (!forgetSome(decider, walk, 100, isUnwanted)) expect(walk.from % 100).toBe(0)
  return walk.busy
}

test('records grow, and keep their chains when others are forgotten', () => {
  const decider = selling({ available: 5_000 })
  const { buyers } = decider
  for (let uid = 1; uid <= 3_000; uid++) buy(decider, uid, 1 + (uid % 2))

  expect(forgetAll(decider, (record) => buyers.sku[record] === 1)).toBe(0)

  expect([buyers.used, buyers.size]).toEqual([1_500, 3_000])
  expect(ask(decider, 2, 1)).toBe(VERDICT.granted)
  expect(buyers.first(1)).toBe(-1)
})

test('what is being written or read is not forgotten before that is done', () => {
  const decider = selling()
  ask(decider, 7)
  const { record } = decider

  expect(forgetAll(decider, () => true)).toBe(1)
  settleWrite(decider, record, 'written')
  expect(forgetAll(decider, () => true)).toBe(0)
  expect(decider.buyers.used).toBe(0)
})

test('whatever is added and forgotten, a buyer’s chain holds exactly the buyer’s own records', () => {
  const random = new SeededRandom(11)
  const pick = (count: number) => Math.floor(random.next() * count)
  const { buyers } = new Decider({ recordsMax: 50, pendingMax: 1 })
  const own = new Map<number, Set<number>>()
  for (let step = 0; step < 20_000; step++) {
    const uid = 1 + pick(30)
    const records = own.get(uid) ?? new Set<number>()
    own.set(uid, records)
    if (pick(2) === 0) {
      const record = buyers.add(uid, 0)
      if (record >= 0) records.add(record)
      else expect(buyers.used).toBe(50)
    } else {
      const record = [...records][pick(records.size)]
      if (record !== undefined && records.delete(record)) buyers.forget(record)
    }
    const chain: number[] = []
    for (let record = buyers.first(uid); record >= 0; record = buyers.next[record] as number) chain.push(record)
    expect(new Set(chain)).toEqual(records)
    expect(chain.every((record) => buyers.uid[record] === uid)).toBe(true)
  }
  expect(buyers.used).toBe([...own.values()].reduce((sum, { size }) => sum + size, 0))
  expect(buyers.size).toBeLessThanOrEqual(50)
})

test.each([1, 2, 3, 4, 5])('never above the lease, never against the rule, whatever comes (seed %i)', (seed) => {
  const random = new SeededRandom(seed)
  const pick = (count: number) => Math.floor(random.next() * count)
  const rule = pick(3)
  const limit = 1 + pick(2)
  const decider = selling({ rule, limit, available: 0 })
  const { buyers, skus } = decider
  let leased = 0
  let granted = 0
  let tokens = 0
  const pending: number[] = []
  for (let step = 0; step < 20_000; step++) {
    const what = pick(12)
    if (what === 0) {
      const units = pick(5)
      leased += units
      skus.available[0] = (skus.available[0] as number) + units
      skus.available[1] = (skus.available[1] as number) + units
      leased += units
    } else if (what === 1) decider.now += pick(40_000)
    else if (what === 2 && pending.length > 0) {
      const record = pending.splice(pick(pending.length), 1)[0] as number
      const sku = buyers.sku[record] as number
      const before = skus.available[sku] as number
      const result = (['written', 'refused', 'unknown'] as const)[pick(3)] ?? 'written'
      settleWrite(decider, record, result)
      if (result === 'refused') {
        granted -= buyers.quantity[record] as number
        skus.available[sku] = before + (buyers.quantity[record] as number)
      }
    } else if (what === 3) skus.gate[pick(2)] = [GATE_OPEN, GATE_QUEUED, VERDICT.paused][pick(3)] as number
    else {
      const uid = 1 + pick(60)
      const decision = ask(decider, uid, 1 + pick(2), 1 + pick(2))
      const { record } = decider
      if (decision === DECISION.grant) {
        granted += buyers.quantity[record] as number
        buyers.setTokenId(record, (++tokens).toString(16).padStart(32, '0'))
        buyers.expiresAt[record] = decider.now + 60_000
        buyers.readAt[record] = 0
        pending.push(record)
      } else if (decision === DECISION.reread)
        for (let one = buyers.first(uid); one >= 0; one = buyers.next[one] as number) {
          if (buyers.state[one] !== RECORD.outstanding && buyers.state[one] !== RECORD.bought) continue
          settleReread(decider, one, (['outstanding', 'redeemed', 'gone'] as const)[pick(3)] ?? 'gone')
        }
      else if (decision === VERDICT.granted) expect(buyers.uid[record]).toBe(uid)
      if (rule !== 0) {
        const units = [0, 0]
        for (let one = buyers.first(uid); one >= 0; one = buyers.next[one] as number)
          if (buyers.state[one] !== RECORD.free)
            units[buyers.sku[one] as number] =
              (units[buyers.sku[one] as number] as number) + (buyers.quantity[one] as number)
        expect(Math.max(...units)).toBeLessThanOrEqual(limit)
        if (rule === 1) expect(Math.min(...units)).toBe(0)
      }
    }
    expect(granted).toBeLessThanOrEqual(leased)
    expect(skus.available[0]).toBeGreaterThanOrEqual(0)
  }
  expect(decider.pending).toBe(pending.length)
})

test('a node that was restarted in an open sale does not say that it has not started', () => {
  const decider = selling()
  decider.skus.gate[0] = VERDICT.notStarted // the first figures are not there yet

  expect(ask(decider, 7)).toBe(VERDICT.unavailable)

  decider.skus.opensAt[0] = NOW + 1
  expect(ask(decider, 7)).toBe(VERDICT.notStarted)
})

test('where there is a line a buyer joins first, and waits until his turn has come', () => {
  const decider = selling()
  decider.skus.line[0] = 1

  expect(ask(decider, 7)).toBe(DECISION.join)
  const { record } = decider
  expect(ask(decider, 7)).toBe(DECISION.wait)
  decider.buyers.line[record] = LINE.waiting
  decider.buyers.place[record] = 3
  decider.skus.cursor[0] = 2
  expect(ask(decider, 7)).toBe(VERDICT.queued)
  expect(decider.record).toBe(record)
  decider.skus.cursor[0] = 3

  expect(ask(decider, 7)).toBe(DECISION.grant)
  expect(decider.record).toBe(record)
})

test('only those whose turn it is count as demand', () => {
  const decider = selling({ available: 0 })
  decider.skus.line[0] = 1
  for (let uid = 1; uid <= 5; uid++) {
    ask(decider, uid)
    decider.buyers.line[decider.record] = LINE.waiting
    decider.buyers.place[decider.record] = uid
  }
  decider.skus.cursor[0] = 2

  for (let uid = 1; uid <= 5; uid++) expect(ask(decider, uid)).toBe(VERDICT.queued)

  expect(decider.skus.wanting[0]).toBe(2)
})

test('a waiting list begins when all units are spoken for, and not before', () => {
  const decider = selling()
  decider.skus.hasWaitingList[0] = 1

  expect(ask(decider, 7)).toBe(DECISION.grant)
  decider.skus.gate[0] = GATE_QUEUED
  expect(ask(decider, 8)).toBe(DECISION.join)
})

test('a grant that Redis refuses because it is not the buyer’s turn leaves the place with the node, and he joins anew', () => {
  const decider = selling()
  decider.skus.line[0] = 1
  ask(decider, 7)
  decider.buyers.line[decider.record] = LINE.waiting
  ask(decider, 7)

  settleWrite(decider, decider.record, 'uncalled')

  expect(decider.skus.available[0]).toBe(10)
  expect(ask(decider, 7)).toBe(DECISION.join)
})

test('while the draw collects nobody’s turn comes, and afterwards each asks for his place', () => {
  const decider = selling()
  decider.skus.line[0] = 1
  decider.skus.callsAt[0] = NOW + 1_000
  ask(decider, 7)
  decider.buyers.line[decider.record] = LINE.drawn

  expect(ask(decider, 7)).toBe(VERDICT.queued)
  decider.now = NOW + 1_000
  expect(ask(decider, 7)).toBe(DECISION.join)
})
