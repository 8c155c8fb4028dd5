import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterEach, expect, test } from 'vitest'

// The process under test runs the built package, as services do.
const built = pathToFileURL(join(dirname(dirname(fileURLToPath(import.meta.url))), 'dist', 'index.js')).href
const children: ChildProcess[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

interface Running {
  readonly child: ChildProcess
  readonly origin: string
  output(): string
  ended(): Promise<number | null>
}

async function run(parts: string, env: Record<string, string> = {}): Promise<Running> {
  const port = await freePort()
  const source = `
    import { baseSettings, defineSettings, runService, setting } from '${built}'
    const settings = defineSettings({ ...baseSettings({ name: 'test', port: 1 }),
      secret: setting.secret('BIGTAP_TEST_SECRET', { default: 'known to everybody', doc: 'a key' }) })
    const say = (text) => console.log(text)
    await runService('test', settings, ({ page }) => { page('/debug/more', () => ({ more: 1 })); return [${parts}] })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    env: { BIGTAP_DEV: 'on', ...env, BIGTAP_OPS_PORT: `${port}` },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  children.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  return { child, origin: `http://127.0.0.1:${port}`, output: () => output, ended: () => ended }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (await isSo()) return
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error('it did not happen in 5 s')
}

const part = (name: string) => `{ name: '${name}', start: () => say('start ${name}'), stop: () => say('stop ${name}') }`
const saidBy = ({ output }: Running) => output().match(/^(start|stop) \w+$/gm) ?? []

test('parts start in order and stop in reverse', async () => {
  const service = await run(`${part('a')}, ${part('b')}`)
  await until(() => service.output().includes('test is up'))

  service.child.kill('SIGTERM')

  expect(await service.ended()).toBe(0)
  expect(saidBy(service)).toEqual(['start a', 'start b', 'stop b', 'stop a'])
})

test('a part that cannot start ends the process, and what had started is stopped', async () => {
  const service = await run(`${part('a')}, { name: 'b', start: () => { throw new Error('no') } }, ${part('c')}`)

  expect(await service.ended()).toBe(1)
  expect(saidBy(service)).toEqual(['start a', 'stop a'])
})

test('a second signal exits at once', async () => {
  const service = await run(`{ name: 'slow', stop: () => { say('stop slow'); return new Promise(() => {}) } }`)
  await until(() => service.output().includes('test is up'))

  service.child.kill('SIGTERM')
  await until(() => service.output().includes('stop slow'))
  service.child.kill('SIGTERM')

  expect(await service.ended()).toBe(1)
})

test('the operations port tells health, readiness, metrics, settings without secrets, and pages', async () => {
  const service = await run(`{ name: 'late', ready: () => globalThis.isReady === true, limits: { queueMax: 7 },
    start: () => void setTimeout(() => { globalThis.isReady = true }, 400), }`)
  const read = async (path: string) => {
    const answer = await fetch(`${service.origin}${path}`)
    return { status: answer.status, text: await answer.text() }
  }
  await until(() => service.output().includes('test is up'))

  expect((await read('/healthz')).status).toBe(200)
  expect(await read('/readyz')).toMatchObject({ status: 503, text: expect.stringContaining('late') })
  await until(async () => (await read('/readyz')).status === 200)
  expect((await read('/metrics')).text).toContain('bigtap_test_event_loop_lag_seconds')
  const { text } = await read('/debug/config')
  expect(text).toContain('"queueMax":7')
  expect(text).not.toContain('known to everybody')
  expect((await read('/debug/more')).text).toBe('{"more":1}')
  expect((await read('/nothing')).status).toBe(404)
})

test('bad settings end the process with every error, before anything starts', async () => {
  const service = await run(part('a'), { BIGTAP_DEV: 'off', BIGTAP_PORT: 'no' })

  expect(await service.ended()).toBe(2)
  expect(service.output()).toContain('BIGTAP_PORT')
  expect(service.output()).toContain('BIGTAP_TEST_SECRET')
  expect(saidBy(service)).toEqual([])
})

test('a service does not outlive its parent', async () => {
  const service = await run(part('a'), { BIGTAP_PARENT: 'on' })
  await until(() => service.output().includes('test is up'))

  service.child.disconnect()

  expect(await service.ended()).toBe(0)
})

test('a bug ends the process with an error', async () => {
  const service = await run(`{ name: 'a', start: () => void setTimeout(() => { throw new Error('a bug') }, 50) }`)

  expect(await service.ended()).toBe(1)
  expect(service.output()).toContain('a bug')
})
