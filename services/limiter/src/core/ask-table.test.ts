import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { AskTable, CROWDED, FULL, JOINED, type Waiting } from './ask-table.ts'
import { problem } from './replies.ts'
import type { Reply } from './reply.ts'

const soldOut = problem('sold_out')
const late = problem('internal')

class Click implements Waiting {
  readonly replies: Reply[] = []
  reply(reply: Reply): void {
    this.replies.push(reply)
  }
}

describe('the asks that wait for Middle', () => {
  test('each is answered once, and its place is free again', () => {
    const table = new AskTable({ capacity: 2, askMsMax: 100 })
    const [a, b] = [new Click(), new Click()]
    const first = table.open(1, 7, 1, 0, a)
    const second = table.open(2, 7, 1, 0, b)

    expect(table.open(3, 7, 1, 0, new Click())).toBe(FULL)
    expect([table.settle(second, soldOut), table.settle(first, soldOut)]).toEqual([true, true])
    expect([a.replies.length, b.replies.length, table.used]).toEqual([1, 1, 0])
  })

  test('clicks of one buyer for one product are one ask; too many are told to wait; another product is another ask', () => {
    const table = new AskTable({ capacity: 16, askMsMax: 100 })
    const clicks = Array.from({ length: 4 }, () => new Click())
    const [id = 0, ...joined] = clicks.map((click) => table.open(9, 7, 1, 0, click))

    expect(joined).toEqual([JOINED, JOINED, JOINED])
    expect(table.open(9, 7, 1, 0, new Click())).toBe(CROWDED)
    expect(table.open(9, 7, 2, 0, new Click())).toBeGreaterThanOrEqual(0)
    table.settle(id, soldOut)
    expect(clicks.map((click) => click.replies)).toEqual(Array(4).fill([soldOut]))
    expect(table.used).toBe(1)
  })

  test('what is past its deadline is answered, and a verdict that comes later touches nobody', () => {
    const table = new AskTable({ capacity: 1, askMsMax: 100 })
    const [early, next] = [new Click(), new Click()]
    const id = table.open(1, 7, 1, 0, early)
    table.sweep(99, () => late)
    expect(early.replies).toEqual([])
    table.sweep(100, () => late)
    table.open(2, 7, 1, 100, next)

    expect(table.settle(id, soldOut)).toBe(false)
    expect(table.settle(0xffff_ffff, soldOut)).toBe(false)
    expect([early.replies, next.replies, table.late, table.expired]).toEqual([[late], [], 2, 1])
  })

  test('many random opens and settles leave nothing behind', () => {
    const table = new AskTable({ capacity: 64, askMsMax: 100 })
    const open = new Map<number, Click>()
    let state = 1
    const draw = (below: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return (state >>> 8) % below
    }
    for (let round = 0; round < 20_000; round++) {
      const click = new Click()
      const id = table.open(draw(40) + 1, 7, draw(3), 0, click)
      if (id >= 0) open.set(id, click)
      const [some] = [...open.keys()].slice(draw(open.size || 1))
      if (some === undefined || draw(3) === 0) continue
      expect(table.settle(some, soldOut)).toBe(true)
      expect(open.get(some)?.replies).toHaveLength(1)
      open.delete(some)
    }
    for (const id of open.keys()) table.settle(id, soldOut)

    expect(table.used).toBe(0)
    for (let uid = 1; uid <= 64; uid++) expect(table.open(uid, 7, 1, 0, new Click())).toBeGreaterThanOrEqual(0)
  })

  test('an ask that nobody decides about is asked again after 1, 2 and 3 ticks, then given up', () => {
    const table = new AskTable({ capacity: 16, askMsMax: 100 })
    const id = table.open(9, 7, 1, 0, new Click())
    const asked: number[] = []
    const tickedAt: number[] = []
    for (let tick = 1; tick <= 10; tick++) {
      if (table.putOffCount === 0 && !table.putOff(id)) break
      table.tick((handle, uid, activityId, skuId) => {
        tickedAt.push(tick)
        asked.push(handle, uid, activityId, skuId)
      })
    }

    expect(tickedAt).toEqual([1, 3, 6])
    expect(asked).toEqual(Array(3).fill([id, 9, 7, 1]).flat())
    expect([table.putOff(id), table.askedAgain, table.putOffCount]).toEqual([false, 3, 0])
    expect(table.settle(id, soldOut)).toBe(true)
  })

  test('a new table asks those of moved buyers at once, put off or not, and a verdict of either owner is the answer', () => {
    const table = new AskTable({ capacity: 16, askMsMax: 100 })
    const clicks = [1, 2, 3].map(() => new Click())
    const [one = 0, two = 0] = clicks.map((click, index) => table.open(index + 1, 7, 1, 0, click))
    table.putOff(two)
    const asked: number[] = []

    table.onMoved(
      (handle) => asked.push(handle),
      (uid) => uid <= 2,
    )

    expect(asked.sort()).toEqual([one, two].sort())
    expect(table.putOffCount).toBe(0)
    expect([table.settle(one, soldOut), table.settle(one, late)]).toEqual([true, false])
    expect(clicks[0]?.replies).toEqual([soldOut])
  })

  test('what was under way on a lost link is put off, a quarter of the table at most; the rest is given up', () => {
    const table = new AskTable({ capacity: 16, askMsMax: 100 })
    for (let uid = 1; uid <= 10; uid++) table.open(uid, 7, 1, 0, new Click())
    const givenUp: number[] = []

    table.onLost(
      (uid) => uid <= 6,
      (handle) => {
        givenUp.push(table.uidOf(handle))
        table.settle(handle, late)
      },
    )

    expect([table.putOffCount, givenUp.length, table.used]).toEqual([4, 2, 8])
    table.sweep(100, () => late)
    expect([table.putOffCount, table.used]).toEqual([0, 0])
    expect(table.putOff(3)).toBe(false)
  })

  test('an ask takes no memory', () => {
    const table = new AskTable({ capacity: 1_024, askMsMax: 100 })
    const waiting: Waiting = { reply: () => undefined }
    const run = (count: number) => {
      for (let n = 0; n < count; n++) table.settle(table.open((n % 500) + 1, 7, 1, 0, waiting), soldOut)
    }
    // The compiler's own garbage falls into some rounds; garbage of an ask would be in each.
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    let least = Number.POSITIVE_INFINITY
    for (let round = 0; round < 20 && least > 0.1; round++) {
      collect()
      const before = process.memoryUsage().heapUsed
      run(50_000)
      least = Math.min(least, (process.memoryUsage().heapUsed - before) / 50_000)
    }

    expect(least).toBeLessThan(1)
  })
})
