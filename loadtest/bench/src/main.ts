/** `npm run bench -- [NAME …] [--json]`: value and baseline of each benchmark, measured in turn in one run. */

import { runAntiblack } from './antiblack.ts'
import { runBroadcast } from './broadcast.ts'
import { runCounter } from './counter.ts'
import { runDecide } from './decide.ts'
import { runDetect } from './detect.ts'
import { runEdge } from './edge.ts'
import { runFailover } from './failover.ts'
import { runFreshness } from './freshness.ts'
import { runStreamFreshness } from './freshness-stream.ts'
import { runOrders } from './orders.ts'
import { runPace } from './pace.ts'
import { runReservations } from './reservations.ts'
import type { BenchResult } from './result.ts'
import { runShed } from './shed.ts'
import { runSoldout } from './soldout.ts'
import { runWire } from './wire.ts'

const BENCHES: Readonly<Record<string, () => Promise<BenchResult[]>>> = {
  decide: runDecide,
  wire: runWire,
  counter: runCounter,
  orders: runOrders,
  edge: runEdge,
  broadcast: runBroadcast,
  freshness: async () => [...(await runFreshness()), ...(await runStreamFreshness())],
  failover: runFailover,
  pace: runPace,
  soldout: runSoldout,
  reservations: runReservations,
  shed: runShed,
  antiblack: runAntiblack,
  detect: runDetect,
}

const args = process.argv.slice(2)
const asJson = args.includes('--json')
const names = args.filter((arg) => !arg.startsWith('--'))
const unknown = names.filter((name) => !(name in BENCHES))
if (unknown.length > 0) {
  console.error(`no benchmark is called ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}`)
  process.exit(2)
}
for (const [name, run] of Object.entries(BENCHES)) {
  if (names.length > 0 && !names.includes(name)) continue
  for (const result of await run()) console.log(asJson ? JSON.stringify(result) : line(result))
}
process.exit(0)

function line({ name, unit, value, baseline, ratio, runs, bytesPerOp }: BenchResult): string {
  // Counts per second are whole; small figures keep a digit that says something.
  const number = (n: number) =>
    n.toLocaleString('en-US', { maximumFractionDigits: Math.abs(n) < 100 ? 2 : 0 }).padStart(12)
  const bytes = bytesPerOp === undefined ? '' : `  ${bytesPerOp.toFixed(2)} bytes/op`
  return `${name.padEnd(34)} ${number(value)} ${unit.padEnd(24)} baseline ${number(baseline)}  ratio ${ratio.toFixed(2)}  (${runs} runs)${bytes}`
}
