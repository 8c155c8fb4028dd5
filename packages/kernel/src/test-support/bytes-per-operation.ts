import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const ROUNDS_MAX = 30
/** Below this an operation leaves nothing: the smallest thing on the heap takes 8 bytes. */
const NOTHING = 0.1

/**
 * Heap bytes that one operation leaves behind: runs `count` operations after a collection, again and again, and takes the
 * least. The compiler's garbage, and code that is not compiled yet on a busy machine, fall into some rounds; garbage of
 * the operation would be in each.
 */
export function bytesPerOperation(count: number, run: (count: number) => void): number {
  const collect = collector()
  run(count)
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS_MAX && least > NOTHING; round++) {
    collect()
    const before = process.memoryUsage().heapUsed
    run(count)
    least = Math.min(least, (process.memoryUsage().heapUsed - before) / count)
  }
  return least
}

/** Bytes of the heap and of typed arrays after a collection. */
export function heapBytes(): number {
  const collect = collector()
  collect()
  collect() // the second frees the memory of arrays that the first found dead
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

function collector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}
