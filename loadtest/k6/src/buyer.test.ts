import { describe, expect, test, vi } from 'vitest'
import { log, script } from '../stand-in/k6.ts'

vi.mock('k6', async () => await import('../stand-in/k6.ts'))
vi.mock('k6/http', async () => ({ default: (await import('../stand-in/k6.ts')).http }))
const { visit } = await import('./buyer.ts')
const { optionsOf } = await import('./options.ts')

const target = { baseUrl: 'http://shop', activityId: 1, skuId: 2, patienceSeconds: 20 }
const now = () => log.sleptSeconds * 1000

describe('k6 buyer (k6 API by a stand-in)', () => {
  test('waits as told while queued, then buys and pays', () => {
    let asks = 0
    script(({ url }) => {
      if (url.endsWith('/v1/session')) return { status: 200, body: { session: 's' } }
      if (url.endsWith('/path')) return { status: 200, body: { path: '/v1/buy/ticket' } }
      if (url.endsWith('/v1/buy/ticket')) {
        return asks++ < 2 ? { status: 202, body: { retryAfterMs: 1500 } } : { status: 200, body: { token: 't' } }
      }
      if (url.endsWith('/v1/cart')) return { status: 201, body: { orderId: 'o1' } }
      if (url.endsWith('/payment')) return { status: 202, body: { redirectUrl: 'http://shop/v1/sandbox/payments/p' } }
      return { status: 200, body: {} }
    })

    const end = visit(target, 7, now)

    expect(end).toBe('paid')
    expect(log.sleptSeconds).toBe(3)
    expect(log.failedChecks).toEqual([])
    expect(log.calls.at(-1)).toEqual({
      method: 'POST',
      url: 'http://shop/v1/sandbox/payments/p',
      body: { outcome: 'paid' },
    })
  })

  test('stops at sold out', () => {
    script(({ url }) =>
      url.endsWith('/session') ? { status: 200, body: { session: 's' } } : { status: 410, body: {} },
    )

    expect(visit(target, 7, now)).toBe('sold-out')
  })

  test('gives up when patience ends, and notices answers outside the contract', () => {
    script(({ url }) =>
      url.endsWith('/session') ? { status: 200, body: { session: 's' } } : { status: 500, body: {} },
    )

    expect(visit(target, 7, now)).toBe('gave-up')
    expect(log.failedChecks.length).toBeGreaterThan(0)
  })

  test('options follow the numbers of the scenario', () => {
    const options = optionsOf({ buyers: 100, arriveSeconds: 5, patienceSeconds: 9, checkRateMin: 0.9 })

    expect(options.scenarios?.buyers).toMatchObject({ executor: 'constant-arrival-rate', rate: 20, duration: '5s' })
  })
})
