import { subnetOf } from '@bigtap/domain'
import { expect, test } from 'vitest'
import { trustedProxies } from '../trusted-proxies.ts'
import { clientAddress, plainAddress } from './address.ts'

const isTrusted = trustedProxies(['10.0.0.0/8', '127.0.0.1', 'fd00::/8'])

test.each([
  ['nobody is trusted by default', '9.9.9.9', '1.2.3.4', '9.9.9.9'],
  ['a trusted proxy says who the client is', '10.1.1.1', '1.2.3.4', '1.2.3.4'],
  ['what a client puts in front is not read', '10.1.1.1', '6.6.6.6, 1.2.3.4', '1.2.3.4'],
  ['proxies behind proxies are passed over', '10.1.1.1', '6.6.6.6, 1.2.3.4, 10.2.2.2', '1.2.3.4'],
  ['nonsense ends the search', '10.1.1.1', '1.2.3.4, <script>', '10.1.1.1'],
  ['an IPv6 proxy', 'fd00::1', '2001:db8::1', '2001:db8::1'],
  ['a mapped address is an IPv4 address', '::ffff:10.1.1.1', '::ffff:1.2.3.4', '1.2.3.4'],
  ['an endless list is not read', '10.1.1.1', '1.2.3.4,'.repeat(1_000), '10.1.1.1'],
])('%s', (_what, socket, forwarded, client) => {
  expect(clientAddress(socket, forwarded, isTrusted)).toBe(client)
})

test('subnets are /24 and /64, however an address is written', () => {
  expect(subnetOf('1.2.3.4')).toBe('1.2.3')
  expect(subnetOf('2001:db8::1')).toBe('2001:db8:0:0')
  expect(subnetOf('2001:0db8:0000:0000:1:2:3:4')).toBe('2001:db8:0:0')
  expect(plainAddress('0000:0000:0000:0000:0000:ffff:0102:0304')).toBe('1.2.3.4')
})

test('an address is judged alike each time, and after many others', () => {
  for (let round = 0; round < 2; round++) {
    for (let n = 0; n < 10_000; n++) expect(isTrusted(`9.9.${n >> 8}.${n & 255}`)).toBe(false)
    expect(isTrusted('10.1.1.1')).toBe(true)
    expect(isTrusted('fd00::1')).toBe(true)
    expect(isTrusted('nonsense')).toBe(false)
  }
})

test('a setting that is neither address nor network is refused', () => {
  expect(() => trustedProxies(['10.0.0.0/33'])).toThrow('10.0.0.0/33')
  expect(() => trustedProxies(['shop'])).toThrow('shop')
})
