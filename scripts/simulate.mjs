/** `npm run simulate -- [--seeds N] [--seed S] [--verbose] [--scale]`: prepares the workspace, then simulates. */
import { join } from 'node:path'
import { root, runInherited, setUp } from './setup.mjs'

setUp()
process.exit(runInherited(process.execPath, [join(root, 'loadtest/simulation/dist/main.js'), ...process.argv.slice(2)]))
