/** `npm run bench -- [NAME] [--json]`: prepares the workspace, then runs one benchmark, or all of them. */
import { join } from 'node:path'
import { root, runInherited, setUp } from './setup.mjs'

setUp()
process.exit(
  runInherited(process.execPath, ['--expose-gc', join(root, 'loadtest/bench/dist/main.js'), ...process.argv.slice(2)]),
)
