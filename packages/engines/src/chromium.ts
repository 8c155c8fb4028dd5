/** Chromium for browser tests: an installed one, else Debian's package where we may install it. */

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']
const INSTALL_MS_MAX = 300_000

/** The path of a browser; throws one clear line that says what to install. */
export function findChromium(): string {
  const found = onPath()
  if (found !== undefined) return found
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    console.error('setup: installing chromium with apt-get')
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    const options = { stdio: 'ignore', timeout: INSTALL_MS_MAX, env } as const
    spawnSync('apt-get', ['update'], options)
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'], options)
    const installed = onPath()
    if (installed !== undefined) return installed
  }
  throw new Error('chromium was not found: install it (Debian: apt-get install chromium)')
}

function onPath(): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/bin']
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path))
}
