import { expect, test } from 'vitest'
import { WaitTable } from './wait-table.ts'

test('asks wait per record, and a full table refuses', () => {
  const table = new WaitTable(3)
  const places = [table.add(7), table.add(8), table.add(7)]
  expect(places).not.toContain(-1)
  expect(table.add(9)).toBe(-1)

  const freed: number[] = []
  table.release(7, (place) => freed.push(place))

  expect(freed.sort()).toEqual([places[0], places[2]].sort())
  expect(table.size).toBe(1)
  expect(table.add(9)).toBeGreaterThanOrEqual(0)
})

test('those that are over are dropped, the others stay', () => {
  const table = new WaitTable(100)
  for (let ask = 0; ask < 100; ask++) table.deadline[table.add(ask % 3)] = ask
  let swept = 0

  table.drop(
    (place) => (table.deadline[place] ?? 0) <= 49,
    () => swept++,
  )

  expect(swept).toBe(50)
  expect(table.size).toBe(50)
  for (const record of [0, 1, 2]) table.release(record, () => undefined)
  expect(table.size).toBe(0)
  for (let ask = 0; ask < 100; ask++) expect(table.add(1)).toBeGreaterThanOrEqual(0)
})
