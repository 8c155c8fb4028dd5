/** `npm run train`: prepares the workspace, then trains antiblack's model; see services/antiblack/src/train. */
import { join } from 'node:path'
import { root, runInherited, setUp } from './setup.mjs'

setUp()
process.exit(
  runInherited(process.execPath, [join(root, 'services/antiblack/dist/train/main.js'), ...process.argv.slice(2)]),
)
