/**
 * Generates the Prisma client into src/generated, without a download: `prisma generate` insists on a schema engine that it
 * does not use, and takes any existing file for one. Does nothing when schema and Prisma are those of the last time.
 */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const schema = join(here, 'prisma', 'schema.prisma')
const output = join(here, 'src', 'generated')
const stampFile = join(output, 'stamp')
const packageFile = createRequire(import.meta.url).resolve('prisma/package.json')
const prisma = JSON.parse(readFileSync(packageFile, 'utf8'))
const stamp = createHash('sha256').update(prisma.version).update(readFileSync(schema)).digest('hex')

if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp) {
  rmSync(output, { recursive: true, force: true })
  const cli = join(dirname(packageFile), prisma.bin.prisma)
  const done = spawnSync(process.execPath, [cli, 'generate', '--no-hints'], {
    cwd: here,
    encoding: 'utf8',
    env: {
      ...process.env,
      PRISMA_SCHEMA_ENGINE_BINARY: schema,
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
      CHECKPOINT_DISABLE: '1',
    },
  })
  if (done.status !== 0) {
    console.error(`the Prisma client could not be generated: ${done.error?.message ?? `${done.stdout}${done.stderr}`}`)
    process.exit(1)
  }
  writeFileSync(stampFile, stamp)
}
