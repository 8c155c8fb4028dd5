import { subnetOf } from '@bigtap/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addressKey, subnetKey, textSubnetKey } from './address.ts'

test('subnets are named as the limiter names them', () => {
  expect(subnetOf('1.2.3.4')).toBe('1.2.3')
  expect(subnetOf('2001:db8::1')).toBe('2001:db8:0:0')
  expect(subnetOf('2001:0db8:0000:0000:1:2:3:4')).toBe('2001:db8:0:0')
})

test('an address and its subnet have the same number each time, and neighbours share the subnet only', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), fc.integer(), (address, seed) => {
      const key = addressKey(address, seed)
      expect(addressKey(address, seed)).toBe(key)
      expect(Number.isSafeInteger(key) && key >= 0).toBe(true)
      expect(textSubnetKey(subnetOf(address), seed)).toBe(subnetKey(address, seed))
    }),
  )
  expect(subnetKey('10.0.0.1', 1)).toBe(subnetKey('10.0.0.250', 1))
  expect(subnetKey('10.0.0.1', 1)).not.toBe(subnetKey('10.0.1.1', 1))
  expect(addressKey('2001:db8::1', 1)).not.toBe(addressKey('2001:db8::2', 1))
  expect(subnetKey('2001:db8::1', 1)).toBe(subnetKey('2001:db8:0:0:9::1', 1))
})

test('what is no address gets a number too, and harms nobody', () => {
  for (const text of ['', 'x', '1.2.3', '1.2.3.4.5', '256.1.1.1', '1..2.3', '1.2.3.']) {
    expect(Number.isSafeInteger(addressKey(text, 5))).toBe(true)
    expect(addressKey(text, 5)).toBeGreaterThan(2 ** 51)
  }
})
