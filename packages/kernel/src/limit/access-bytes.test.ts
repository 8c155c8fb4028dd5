import { expect, test } from 'vitest'
import { bytesPerOperation } from '../test-support/bytes-per-operation.ts'
import { createLimiter } from './keyed-limiter.ts'

// In a file of its own: after a thousand limiters of all sorts the compiler keeps numbers in boxes.
test.each(['fixed-window', 'sliding-window', 'leaky-bucket', 'token-bucket'] as const)(
  'an access of a known key takes 0 bytes: %s',
  (algorithm) => {
    const limiter = createLimiter({ algorithm, seconds: 2, maxCount: 5, keysMax: 64 })
    const keys = Array.from({ length: 64 }, (_, n) => (n % 2 === 0 ? n : `ip-${n}`))
    let now = 0

    const bytes = bytesPerOperation(20_000, (count) => {
      for (let n = 0; n < count; n++) limiter.take(keys[n & 63] ?? 0, now++ & 0xffff)
    })

    expect(bytes).toBeLessThan(0.5)
  },
)
