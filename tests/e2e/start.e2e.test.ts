/** `npm start` as its user sees it: what it says when it cannot start, and that it leaves nothing behind. */

import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { accepts } from '@bigtap/engines'
import { waitFor } from '@bigtap/testkit'
import { describe, expect, test } from 'vitest'
import { parseArgs } from '../../deploy/local/src/args.ts'
import { portClaims, portsOf } from '../../deploy/local/src/topology.ts'
import { root } from '../tree.ts'

function start(...args: string[]): { child: ChildProcess; output: () => string; ended: Promise<number | null> } {
  const child = spawn(process.execPath, [join(root, 'deploy/local/dist/main.js'), ...args], { cwd: root })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  const ended = new Promise<number | null>((resolve) => child.on('exit', (code) => resolve(code)))
  return { child, output: () => output, ended }
}

async function busyPorts(base: number): Promise<string[]> {
  const parsed = parseArgs(['--port-base', `${base}`])
  const claims = parsed.ok ? portClaims(portsOf(parsed.options), false) : new Map<number, string>()
  const busy: string[] = []
  for (const [port, name] of claims) if (await accepts(port)) busy.push(`${name} ${port}`)
  return busy
}

describe('npm start', () => {
  test('a port in use is named, with what to do', async () => {
    const server = createServer().listen(25_020, '127.0.0.1')
    const { ended, output } = start('--idle', '--port-base', '25000')

    expect(await ended).toBe(1)
    expect(output()).toContain('25020 (cart)')
    expect(output()).toContain('--port-base')
    server.close()
  })

  test('bad flags are all named, and nothing starts', async () => {
    const { ended, output } = start('--buyers', 'x', '--nonsense')

    expect(await ended).toBe(2)
    expect(output()).toContain('--buyers')
    expect(output()).toContain('--nonsense')
  })

  test('Ctrl-C stops everything, in order', async () => {
    const { child, ended, output } = start('--idle', '--port-base', '25000')
    await waitFor('the platform', () => output().includes('Ctrl-C stops everything'), 60_000)
    expect((await busyPorts(25_000)).length).toBeGreaterThan(15)

    child.kill('SIGINT')

    expect(await ended).toBe(130)
    expect(await busyPorts(25_000)).toEqual([])
  })

  test('kill -9 of the command itself leaves nothing running', async () => {
    const { child, output } = start('--idle', '--port-base', '26500')
    await waitFor('the platform', () => output().includes('Ctrl-C stops everything'), 60_000)

    child.kill('SIGKILL')

    await waitFor('all ports to be free', async () => (await busyPorts(26_500)).length === 0, 20_000)
  })
})
