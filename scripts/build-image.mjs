/** The build step of the images: dependencies, generated client, build; then everything but production code is removed. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root, runInherited, setUp } from './setup.mjs'

setUp()
for (const folder of ['deploy', 'loadtest', 'packages/testkit', 'packages/engines']) {
  rmSync(join(root, folder), { recursive: true, force: true })
}
const { config } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
process.exit(
  runInherited('npm', ['exec', '--yes', '--', config.pnpm, 'install', '--prod', '--no-frozen-lockfile'], {
    CI: 'true',
  }),
)
