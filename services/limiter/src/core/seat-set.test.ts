import { describe, expect, test } from 'vitest'
import { type SeatLogHead, SeatSet } from './seat-set.ts'

const head = (positions: number, more: Partial<SeatLogHead> = {}): SeatLogHead => ({
  ...{ logId: 'run-1:1', generation: 1, positions, count: positions, ...more },
})
const read = (seats: SeatSet, ...entries: number[]) => seats.apply(Float64Array.from(entries), 0, entries.length)

function loaded(...uids: number[]): SeatSet {
  const seats = new SeatSet({ seatsMax: 100 })
  seats.follow(head(uids.length))
  read(seats, ...uids)
  seats.follow(head(uids.length))
  return seats
}

describe('seats', () => {
  test('before all is read a buyer has a seat or is not known, never refused', () => {
    const seats = new SeatSet({ seatsMax: 100 })
    expect(seats.has(1)).toBeUndefined()
    seats.follow(head(3))
    read(seats, 1, 2)
    expect([seats.has(1), seats.has(9), seats.isLoaded, seats.count]).toEqual([true, undefined, false, 3])

    read(seats, 3)
    seats.follow(head(3))
    expect([seats.has(3), seats.has(9), seats.isLoaded]).toEqual([true, false, true])
  })

  test('while what is new is read, those before it are known and a stranger is still refused', () => {
    const seats = loaded(1, 2)
    seats.follow(head(4))

    expect([seats.position, seats.has(1), seats.has(9)]).toEqual([2, true, false])
  })

  test('a seat that was taken back is gone, and may come again', () => {
    const seats = loaded(1, 2)
    read(seats, -2)
    expect([seats.has(1), seats.has(2)]).toEqual([true, false])

    read(seats, 2)
    expect(seats.has(2)).toBe(true)
  })

  test('a clear voids all seats, also those of the same number of new ones', () => {
    const seats = loaded(1, 2)
    seats.follow(head(2, { logId: 'run-1:2', generation: 2 }))
    expect([seats.has(1), seats.position]).toEqual([undefined, 0])

    read(seats, 3, 4)
    seats.follow(head(2, { logId: 'run-1:2', generation: 2 }))
    expect([seats.has(1), seats.has(3)]).toEqual([false, true])
  })

  test('a store that was emptied or restarted takes no seat back, and is read from the start', () => {
    const seats = loaded(1, 2)
    seats.follow(head(0, { logId: 'run-2:1' }))
    expect([seats.has(1), seats.has(9), seats.position]).toEqual([true, false, 0])

    read(seats, 3)
    expect([seats.has(1), seats.has(3), seats.count]).toEqual([true, true, 3])
  })

  test('after an emptied store began to count generations again, a clear still voids', () => {
    const seats = new SeatSet({ seatsMax: 100 })
    seats.follow(head(0, { generation: 5 }))
    seats.add(1)
    seats.follow(head(0, { logId: 'run-2:1', generation: 1 }))
    expect(seats.has(1)).toBe(true)

    seats.follow(head(0, { logId: 'run-2:2', generation: 2 }))
    expect(seats.has(1)).toBe(false)
  })

  test('a reservation of this process counts before its log was read', () => {
    const seats = new SeatSet({ seatsMax: 100 })
    seats.add(7)
    seats.follow(head(1))

    expect([seats.has(7), seats.has(8)]).toEqual([true, undefined])
  })

  test('more seats than fit are not read: who is not kept is not known, and not refused', () => {
    const seats = loaded(1, 2)
    expect(seats.follow(head(3), 2)).toBe(false)
    expect([seats.has(1), seats.has(3), seats.isOverfull]).toEqual([true, undefined, true])

    expect(seats.follow(head(3), 3)).toBe(true)
    expect([seats.position, seats.has(3)]).toEqual([0, undefined])
    read(seats, 1, 2, 3)
    seats.follow(head(3), 3)
    expect([seats.has(3), seats.has(9)]).toEqual([true, false])
  })

  test('a seat that found no place makes the rest unknown, until all are read again', () => {
    const seats = new SeatSet({ seatsMax: 2 })
    seats.follow(head(2))
    read(seats, 1, 2)
    seats.follow(head(2))
    seats.add(3)

    expect([seats.has(2), seats.has(3)]).toEqual([true, undefined])
  })
})
