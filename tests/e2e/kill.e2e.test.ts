/** kill -9 of any one process in the middle of a sale: the invariants hold afterwards, and the sale finishes. */

import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../tree.ts'

/** Below the ports that the system hands out by itself. */
const PORT_BASE = 23_000
/** Router and dcacenter are killed with others in the last test: half a minute each. */
const ROLES = ['limiter', 'middle', 'counter', 'cart', 'order', 'master', 'redis', 'postgres']

function runSale(args: readonly string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(root, 'deploy/local/dist/main.js'), ...args], { cwd: root })
    let output = ''
    const keep = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-20_000)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.on('exit', (code) => resolve({ code, output }))
  })
}

test.each(ROLES.map((role, index) => [role, index] as const))('kill -9 %s', async (role, index) => {
  const { told, output } = await sellWhile([`${role}@1.5`], index + 1)

  expect(output).toContain(`kill -9 ${role}: done`)
  expect(told).toMatchObject({ ok: true, oversold: 0, duplicates: 0, lost: 0, violations: [], paid: 60, unsold: 0 })
})

test('one after the other: Middle, master, router, limiter, dcacenter, antiblack', async () => {
  const { told } = await sellWhile(
    ['middle@1', 'master@1.5', 'router@2', 'limiter@2.5', 'dcacenter@3', 'antiblack@3'],
    77,
  )

  expect(told).toMatchObject({ ok: true, oversold: 0, duplicates: 0, lost: 0, violations: [], paid: 60, unsold: 0 })
})

// biome-ignore lint/suspicious/noExplicitAny: a report whose shape is about to be checked
async function sellWhile(kills: readonly string[], seed: number): Promise<{ told: any; output: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'bigtap-kill-'))
  const report = join(folder, 'report.json')
  const crowd = ['--buyers', '600', '--stock', '60', '--skus', '2', '--bots', '0.3', '--seed', `${seed}`]
  const flags = ['--exit', '--report', report, '--port-base', `${PORT_BASE}`]

  const { code, output } = await runSale([...flags, ...crowd, ...kills.flatMap((kill) => ['--kill', kill])])

  expect(code, output).toBe(0)
  const told = JSON.parse(readFileSync(report, 'utf8'))
  rmSync(folder, { recursive: true })
  return { told, output }
}
