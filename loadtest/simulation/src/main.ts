/** `npm run simulate -- --seeds N [--seed S] [--verbose]`. */

import { runSeed } from './simulation.ts'

const arg = (name: string, otherwise: number) => {
  const at = process.argv.indexOf(name)
  return at < 0 ? otherwise : Number(process.argv[at + 1])
}
const first = arg('--seed', 1)
const mistakes = { [String(process.argv[process.argv.indexOf('--mistake') + 1])]: true }
const started = performance.now()
const totals: Record<string, number> = {}
for (let seed = first; seed < first + arg('--seeds', 1); seed++) {
  const result = await runSeed(seed, { isVerbose: process.argv.includes('--verbose'), mistakes })
  const { log, ...rest } = result
  for (const [name, count] of Object.entries(result.counts)) totals[name] = (totals[name] ?? 0) + count
  if (result.violation || process.argv.includes('--each')) console.log(JSON.stringify(rest))
  if (result.violation && process.argv.includes('--first')) {
    console.log('found by seed', seed)
    break
  }
  if (result.violation && arg('--log', 0)) for (const line of log.slice(-arg('--log', 0))) console.log(line)
}
console.log(((performance.now() - started) / arg('--seeds', 1)).toFixed(0), 'ms per seed')
console.log(JSON.stringify(totals))
