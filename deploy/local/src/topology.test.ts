import { describe, expect, test } from 'vitest'
import { parseArgs } from './args.ts'
import { isRepeatable, targetOf } from './front-routes.ts'
import { portClaims, portsOf, processesOf } from './topology.ts'

function optionsOf(...args: string[]) {
  const parsed = parseArgs(args)
  if (!parsed.ok) throw new Error(parsed.errors.join())
  return parsed.options
}

describe('local platform', () => {
  test('ports are those of the contract and move with the base', () => {
    expect(portsOf(optionsOf())).toMatchObject({
      origin: 8000,
      limiters: [8010, 8011],
      cart: 8020,
      order: 8030,
      masters: [8090, 8091],
      routers: [8200, 8201],
      dcacenter: 8100,
      middles: [8300, 8301, 8302],
      counter: 8400,
      antiblack: 8600,
    })
    expect(portsOf(optionsOf('--port-base', '20000'))).toMatchObject({ origin: 20000, counter: 20400 })
  })

  test('no port is claimed twice, at the most processes too', () => {
    const ports = portsOf(optionsOf('--limiters', '10', '--middles', '16', '--masters', '5', '--routers', '5'))
    const claims = portClaims(ports, true)
    expect(claims.size).toBe(2 * (10 + 16 + 5 + 5 + 6) + 10 + 3)
  })

  test('processes start from the inside out, each with its own id and ports', () => {
    const secrets = { token: 't', cluster: 'c', payment: 'p', operatorPassword: 'o', adminPassword: 'a' }
    const groups = processesOf(portsOf(optionsOf()), { redis: 'r', postgres: 'p', kafka: undefined }, secrets)
    const names = groups.map((group) => group.map(({ name }) => name))
    expect(names).toEqual([
      ['master-1', 'master-2', 'router-1', 'router-2', 'dcacenter'],
      ['counter', 'order', 'antiblack'],
      ['middle-1', 'middle-2', 'middle-3'],
      ['cart', 'front'],
      ['limiter-1', 'limiter-2'],
    ])
    const ports = groups.flat().flatMap(({ port, opsPort }) => [port, opsPort])
    expect(new Set(ports).size).toBe(ports.length)
  })
})

test.each([
  ['/v1/cart', 'cart'],
  ['/v1/orders/o1/payment', 'order'],
  ['/v1/payments/callback', 'order'],
  ['/v1/sandbox/payments/p', 'order'],
  ['/v1/buy/t', 'limiter'],
  ['/v1/nothing', 'limiter'],
  ['/', 'storefront'],
])('the front routes %s to %s', (path, target) => {
  expect(targetOf(path)).toBe(target)
})

test('only calls that count once are sent a second time', () => {
  expect(isRepeatable('GET', 'limiter')).toBe(true)
  expect(isRepeatable('POST', 'cart')).toBe(true)
  expect(isRepeatable('POST', 'order')).toBe(false)
})
