/**
 * Everything that `npm start`, `npm test` and `npm run bench` need before they can run: dependencies, the generated
 * Prisma client and the build. Each step is skipped when its inputs have not changed since it last succeeded.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const NODE_MIN = [20, 19]
const INSTALL_MS_MAX = 15 * 60_000
const STEP_MS_MAX = 5 * 60_000

/** Prepares the workspace; exits the process with one clear line when a step fails. */
export function setUp({ log = (line) => console.error(line) } = {}) {
  checkNode()
  install(log)
  run('generating the Prisma client', process.execPath, ['packages/db/generate.mjs'], { log, quiet: true })
  run('building', process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-b'], { log, quiet: true })
}

/** Runs one command from the root and returns its exit code. */
export function runInherited(command, args, env = {}) {
  const done = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } })
  if (done.error) console.error(`${command} could not be started: ${done.error.message}`)
  return done.status ?? 1
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return
  fail(`Node.js ${NODE_MIN.join('.')} or newer is needed, this is ${process.versions.node}`)
}

function install(log) {
  const stampFile = join(root, 'node_modules/.bigtap-install')
  const stamp = digestOf(manifests())
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return
  log('setup: installing dependencies with pnpm (the first time takes a minute)')
  const { config } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  run('installing dependencies', 'npm', ['exec', '--yes', '--', config.pnpm, 'install', '--frozen-lockfile'], {
    log,
    quiet: false,
    timeoutMs: INSTALL_MS_MAX,
    env: { CI: 'true' },
  })
  mkdirSync(dirname(stampFile), { recursive: true })
  writeFileSync(stampFile, stamp)
}

function manifests() {
  const groups = ['packages', 'services', 'deploy', 'loadtest']
  const packages = groups.flatMap((group) =>
    readdirSync(join(root, group)).map((name) => join(root, group, name, 'package.json')),
  )
  return ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json']
    .map((name) => join(root, name))
    .concat(packages.filter((file) => existsSync(file)).sort())
}

function digestOf(files) {
  const hash = createHash('sha256').update(process.version)
  for (const file of files) hash.update(file.slice(root.length)).update(readFileSync(file))
  return hash.digest('hex')
}

function run(what, command, args, { log, quiet, timeoutMs = STEP_MS_MAX, env = {} }) {
  const done = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', quiet ? 'pipe' : process.stderr, quiet ? 'pipe' : process.stderr],
    env: { ...process.env, ...env },
    timeout: timeoutMs,
    maxBuffer: 64 * 1024 * 1024,
  })
  if (done.status === 0) return
  if (quiet) log(`${done.stdout ?? ''}${done.stderr ?? ''}`)
  fail(`setup: ${what} failed (${done.error ? done.error.message : `exit code ${done.status}`})`)
}

function fail(line) {
  console.error(line)
  process.exit(1)
}
