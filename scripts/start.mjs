/** `npm start`: prepares the workspace, then becomes the local platform (deploy/local). */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { root, setUp } from './setup.mjs'

setUp()
const child = spawn(process.execPath, [join(root, 'deploy/local/dist/main.js'), ...process.argv.slice(2)], {
  cwd: process.env.INIT_CWD ?? process.cwd(),
  stdio: 'inherit',
})
// The platform stops itself in order; this process only waits and passes a signal on where the terminal did not.
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    if (signal === 'SIGTERM') child.kill(signal)
  })
}
child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
