/** `npm start`: the whole platform on one machine, a sale on it, and an orderly stop. */

import { writeFileSync } from 'node:fs'
import { labelLines } from '@bigtap/crowd/labels'
import { planCrowd } from '@bigtap/crowd/plan'
import { sourcesObstacle } from '@bigtap/crowd/sources'
import { SeededRandom } from '@bigtap/testkit'
import { parseArgs, type StartOptions, USAGE } from './args.ts'
import { type Platform, startPlatform } from './platform.ts'
import { createDisplay, type Display } from './progress.ts'
import { runSale } from './sale.ts'

const parsed = parseArgs(process.argv.slice(2))
if (!parsed.ok) {
  for (const error of parsed.errors) console.error(error)
  process.exit(2)
}
if (parsed.options.help) {
  console.log(USAGE)
  process.exit(0)
}
const display = createDisplay(process.stdout)
let platform: Platform | undefined
let isStopping = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(130))
process.exitCode = await main(parsed.options, display).catch(async (error: unknown) => {
  if (isStopping) return 130
  console.error(error instanceof Error ? error.message : error)
  await stop(1)
  return 1
})

async function main(options: StartOptions, { step }: Display): Promise<number> {
  const startedAt = performance.now()
  const obstacle = options.profile === undefined ? undefined : await sourcesObstacle()
  if (obstacle !== undefined) throw new Error(obstacle)
  if (options.labels !== undefined) writeLabels(options.labels, options)
  step('bigtap: starting redis, postgres and the services')
  platform = await startPlatform(options, step)
  step(`ready to sell after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  let code = 0
  if (!options.idle) {
    const report = await runSale(platform, options, display)
    step(JSON.stringify(report, null, 2))
    if (options.report !== undefined) writeFileSync(options.report, `${JSON.stringify(report, null, 2)}\n`)
    step(report.ok ? 'the sale was correct' : `the sale was NOT correct: ${report.violations.join('; ')}`)
    code = report.ok ? 0 : 1
  }
  if (options.exit) {
    await stop(code)
    return code
  }
  step(welcome(platform))
  return new Promise(() => setInterval(() => undefined, 60_000)) // stays up until a signal comes
}

/** The crowd is the same for the same seed, so that its labels can be told before it comes. */
function writeLabels(file: string, options: StartOptions): void {
  const random = new SeededRandom(options.seed)
  writeFileSync(file, labelLines(planCrowd(options, () => random.next())))
}

/** Stops in order, once; a second call kills at once. */
async function stop(code: number): Promise<void> {
  if (isStopping) {
    platform?.killAll()
    process.exit(code)
  }
  isStopping = true
  await platform?.stop()
  process.exit(code)
}

function welcome({ ports, secrets, logDir }: Platform): string {
  return [
    '',
    `  buyers     http://127.0.0.1:${ports.origin}/`,
    `  operators  http://127.0.0.1:${ports.masters[0]}/   name: operator   password: ${secrets.operatorPassword}`,
    `             may all things: name: admin   password: ${secrets.adminPassword}`,
    `  logs       ${logDir}`,
    '  Ctrl-C stops everything.',
    '',
  ].join('\n')
}
