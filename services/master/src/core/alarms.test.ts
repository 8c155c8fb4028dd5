import { expect, test } from 'vitest'
import { type Alarm, Alarms } from './alarms.ts'

const late = {
  key: 'opening:7',
  severity: 'critical',
  message: 'a layer is late',
  data: { waitingFor: ['cart-1'] },
} as const

test('an alarm that is raised again is one alarm, with the newest data and the time it began', () => {
  const alarms = new Alarms()

  alarms.raise(late, 100)
  alarms.raise({ ...late, data: { waitingFor: [] } }, 200)

  expect(alarms.list()).toMatchObject([
    { since: 100, lastAt: 200, count: 1, state: 'firing', data: { waitingFor: [] } },
  ])
})

test('what is cleared stays to be seen, and begins anew when it comes back', () => {
  const alarms = new Alarms()
  alarms.raise(late, 100)
  alarms.acknowledge('opening:7', 'ann')

  alarms.clear('opening:7', 200)
  expect(alarms.get('opening:7')).toMatchObject({ state: 'cleared', clearedAt: 200, acknowledgedBy: 'ann' })
  alarms.raise(late, 300)

  expect(alarms.get('opening:7')).toMatchObject({ state: 'firing', since: 300, count: 2, acknowledgedBy: undefined })
})

test('listeners hear of a beginning and of an end, once each', () => {
  const alarms = new Alarms()
  const heard: Pick<Alarm, 'state'>['state'][] = []
  alarms.onChange(({ state }) => heard.push(state))

  for (const at of [1, 2, 3]) alarms.set(true, late, at)
  for (const at of [4, 5]) alarms.set(false, late, at)

  expect(heard).toEqual(['firing', 'cleared'])
})

test('an alarm that is silenced stays so when it comes again', () => {
  const alarms = new Alarms()
  alarms.raise(late, 1)
  expect(alarms.silence('opening:7', 900)).toBe(true)
  alarms.clear('opening:7', 2)
  alarms.raise(late, 3)
  expect(alarms.get('opening:7')?.silencedUntil).toBe(900)
  expect(alarms.silence('nothing', 1)).toBe(false)
})

test('at the limit the oldest cleared alarm falls first, a firing one only when there is no other, and is counted', () => {
  const alarms = new Alarms({ alarmsMax: 2 })
  const raise = (key: string, now: number) => alarms.raise({ ...late, key }, now)
  raise('a', 1)
  raise('b', 2)
  alarms.clear('b', 3)

  raise('c', 4)
  expect(alarms.list().map(({ key }) => key)).toEqual(['c', 'a'])
  raise('d', 5)

  expect(alarms.list().map(({ key }) => key)).toEqual(['d', 'c'])
  expect([alarms.dropped, alarms.firing]).toEqual([1, 2])
})
