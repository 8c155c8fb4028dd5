/** `npm run simulate`: seeds on all cores, or the scale mode. */

import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { parseArgs, type SimulateArgs, USAGE } from './args.ts'
import { runScale } from './scale/scale.ts'
import { type RunResult, runSeed } from './simulation.ts'

const LOG_LINES = 60
const PROGRESS_EVERY = 100

const args = parseArgs(process.argv.slice(2))
if (typeof args === 'string') {
  console.error(`${args}\n${USAGE}`)
  process.exit(2)
}
if (args.isScale) console.log(await runScale({ seed: args.seed, isLoud: true }))
else if (args.seeds === 1) await runOne(args)
else await runMany(args)

async function runOne({ seed, isVerbose, without }: SimulateArgs): Promise<void> {
  const result = await runSeed(seed, { isVerbose, mistakes: mistakesOf(without) })
  const { events, virtualMs, hash, counts } = result
  console.log(`seed ${seed}: ${events} events in ${virtualMs} virtual ms, hash ${hash}, ${JSON.stringify(counts)}`)
  if (result.violation !== undefined) fail(result)
}

/** Each worker takes the next seed when it is done with one; the first violation ends the run. */
async function runMany({ seed, seeds, without }: SimulateArgs): Promise<void> {
  const startedAt = performance.now()
  const cores = Math.min(availableParallelism(), seeds)
  const totals: Record<string, number> = {}
  let next = seed
  let done = 0
  let failed: RunResult | undefined
  const onResult = (result: RunResult) => {
    done++
    for (const [name, count] of Object.entries(result.counts)) totals[name] = (totals[name] ?? 0) + count
    if (result.violation !== undefined && result.seed < (failed?.seed ?? Number.POSITIVE_INFINITY)) failed = result
    if (done % PROGRESS_EVERY === 0) console.log(`${done} seeds, ${rate(done, startedAt)} seeds/s`)
  }
  await Promise.all(
    Array.from({ length: cores }, async () => {
      const worker = new Worker(new URL('./seed-worker.js', import.meta.url), { workerData: mistakesOf(without) })
      while (next < seed + seeds && failed === undefined) onResult(await ask(worker, next++))
      await worker.terminate()
    }),
  )
  console.log(
    `${done} seeds from ${seed}, ${rate(done, startedAt)} seeds/s on ${cores} cores: ${JSON.stringify(totals)}`,
  )
  if (failed === undefined) console.log('no violation')
  else fail(failed)
}

function ask(worker: Worker, seed: number): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject)
    worker.once('message', (result: RunResult) => {
      worker.off('error', reject)
      resolve(result)
    })
    worker.postMessage(seed)
  })
}

function fail({ seed, violation, log }: RunResult): void {
  for (const line of log.slice(-LOG_LINES)) console.log(line)
  console.log(`seed ${seed} at ${violation?.at.toFixed(3)} ms: ${violation?.what}`)
  console.log(`again, with all of its log: npm run simulate -- --seed ${seed} --verbose`)
  process.exitCode = 1
}

function mistakesOf(without: string | undefined): Record<string, boolean> {
  return without === undefined ? {} : { [without]: true }
}

function rate(done: number, startedAt: number): string {
  return ((done * 1000) / (performance.now() - startedAt)).toFixed(1)
}
