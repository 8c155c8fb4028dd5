import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

test('the generated codecs are those of proto/*.proto', () => {
  const fresh = mkdtempSync(join(tmpdir(), 'bigtap-gen-'))
  try {
    const template = JSON.stringify({
      version: 'v2',
      plugins: [{ local: 'protoc-gen-es', out: fresh, opt: ['target=ts', 'import_extension=ts'] }],
    })
    const bin = join(root, 'node_modules', '.bin')
    execFileSync(join(bin, 'buf'), ['generate', join(root, '..', '..', 'proto'), '--template', template], {
      cwd: root,
      env: { ...process.env, PATH: `${bin}:${process.env.PATH ?? ''}` },
    })

    const files = readdirSync(fresh).sort()
    expect(files.length).toBeGreaterThanOrEqual(4)
    expect(readdirSync(join(root, 'src', 'gen')).sort()).toEqual(files)
    for (const file of files) {
      expect(readFileSync(join(root, 'src', 'gen', file), 'utf8')).toBe(readFileSync(join(fresh, file), 'utf8'))
    }
  } finally {
    rmSync(fresh, { recursive: true })
  }
})
