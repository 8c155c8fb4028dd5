/** The build step of the images: dependencies, generated client, build; then everything but production code is removed. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root, runInherited, setUp } from './setup.mjs'

setUp()
const { config } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
rmSync(join(root, 'node_modules'), { recursive: true, force: true })
const prod = ['exec', '--yes', '--', config.pnpm, 'install', '--prod', '--frozen-lockfile']
const code = runInherited('npm', prod, { CI: 'true' })
for (const folder of ['deploy', 'loadtest', 'packages/testkit', 'packages/engines']) {
  rmSync(join(root, folder), { recursive: true, force: true })
}
process.exit(code)
