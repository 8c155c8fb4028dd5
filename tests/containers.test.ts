/** The container files, as far as they can be checked without an engine: compose against the Dockerfile and the settings. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { root } from './tree.ts'

interface ComposeService {
  readonly image?: string
  readonly build?: { context: string; dockerfile: string; target: string }
  readonly environment?: Record<string, string | number>
  readonly healthcheck?: unknown
}

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const compose = parse(read('deploy/compose/compose.yaml'), { merge: true }) as {
  services: Record<string, ComposeService>
}
const dockerfile = read('deploy/images/Dockerfile')
const targets = [...dockerfile.matchAll(/^FROM \S+ AS (\S+)$/gm)].map((match) => match[1])
const ours = Object.entries(compose.services).filter(([, service]) => service.build !== undefined)

describe('containers', () => {
  test('every service of ours is built from a target that exists, and starts a file that is built', () => {
    expect(ours.length).toBeGreaterThanOrEqual(7)
    for (const [name, { build }] of ours) {
      expect(targets, name).toContain(build?.target)
      expect(dockerfile).toContain(`CMD ["node", "services/${build?.target}/dist/main.js"]`)
      expect(existsSync(join(root, `services/${build?.target}/src/main.ts`)), name).toBe(true)
    }
  })

  test('every setting that compose gives is one that the services know', () => {
    const known = new Set([...read('docs/SETTINGS.md').matchAll(/`(BIGTAP_[A-Z_]+)`/g)].map((match) => match[1]))
    const given = ours.flatMap(([, { environment = {} }]) => Object.keys(environment))
    expect(known.size).toBeGreaterThan(40)
    expect([...new Set(given)].filter((name) => !known.has(name))).toEqual([])
  })

  test('no secret stands in the file: each comes from the environment', () => {
    for (const [name, { environment = {} }] of ours) {
      for (const [key, value] of Object.entries(environment)) {
        if (/SECRET|PASSWORD/.test(key)) expect(String(value), `${name} ${key}`).toMatch(/^\$\{[A-Z_]+:\?/)
      }
    }
  })

  test('what the image copies is there', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap((match) =>
      (match[1] ?? '').split(' ').slice(0, -1),
    )
    expect(copied.length).toBeGreaterThan(6)
    expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })
})
