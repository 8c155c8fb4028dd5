/** Which way imports point (docs/ARCHITECTURE.md). The rules are data; each is tried on a made-up offender too. */

import { describe, expect, test } from 'vitest'
import { importsOf, readTree, type SourceFile, valueImportsOf } from './tree.ts'

/** What each package may import besides itself; dev packages may be used by tests and tools. */
const ALLOWED: Record<string, readonly string[]> = {
  kernel: [],
  domain: ['kernel'],
  protocol: ['kernel', 'domain'],
  token: ['kernel'],
  transport: ['kernel', 'protocol'],
  store: ['kernel', 'domain', 'protocol'],
  eventlog: ['kernel'],
  db: ['kernel', 'domain'],
  http: ['kernel', 'domain', 'token'],
  runtime: ['kernel'],
  catalog: ['kernel', 'domain', 'store', 'protocol', 'transport'],
  engines: [],
  testkit: ['kernel', 'engines'],
}
/** A client library and the only packages that may import it. */
const SOLE_IMPORTERS: Record<string, readonly string[]> = {
  ioredis: ['packages/store/', 'packages/eventlog/', 'loadtest/bench/'],
  kafkajs: ['packages/eventlog/'],
  '@bufbuild/cel': ['services/master/'],
  '@prisma/client': ['packages/db/'],
  pg: ['packages/db/'],
  fastify: ['packages/http/', 'services/master/', 'services/order/', 'services/cart/'],
  pino: ['packages/runtime/'],
  'prom-client': ['packages/runtime/'],
  'uWebSockets.js': ['services/limiter/', 'loadtest/bench/'],
}
const FILES_MIN = 150
const isTest = (path: string) => path.endsWith('.test.ts') || /\/(test-support|testing)\//.test(path)

type Rule = (file: SourceFile) => string | undefined

const rules: Record<string, Rule> = {
  'a package imports only what lies below it': ({ path, imports }) => {
    const [group, name = ''] = path.split('/')
    if (group !== 'packages' || isTest(path)) return undefined
    return imports
      .map(packageOf)
      .find((target) => target !== undefined && target !== name && !(ALLOWED[name] ?? []).includes(target))
  },
  'a service imports no other service': ({ path, imports }) => {
    const [group, name] = path.split('/')
    if (group !== 'services' || isTest(path)) return undefined
    return imports.find((one) => {
      const target = packageOf(one)
      return target !== undefined && target !== name && !(target in ALLOWED)
    })
  },
  'no production code imports the tools of the tests': ({ path, imports }) => {
    if (!/^(packages|services)\//.test(path) || isTest(path) || /^packages\/(testkit|engines)\//.test(path))
      return undefined
    return imports.find((one) => ['engines', 'testkit'].includes(packageOf(one) ?? ''))
  },
  'a core is pure': ({ path, valueImports, text }) => {
    if (!/^services\/[^/]+\/src\/core\//.test(path) || isTest(path)) return undefined
    const outside = valueImports.find(
      (one) => !one.startsWith('.') && !['kernel', 'domain', 'protocol', 'token'].includes(packageOf(one) ?? ''),
    )
    return outside ?? /\bDate\.now\(|\bMath\.random\(|\bperformance\.now\(|\bnew Date\(\)/.exec(text)?.[0]
  },
  'the kernel and the domain know no machine': ({ path, imports, text }) => {
    if (!/^packages\/(kernel|domain)\/src\//.test(path) || isTest(path)) return undefined
    return imports.find((one) => one.startsWith('node:')) ?? /\bDate\.now\(|\bMath\.random\(/.exec(text)?.[0]
  },
  'a client library has one importer': ({ path, imports }) => {
    if (isTest(path)) return undefined
    return imports.find((one) => SOLE_IMPORTERS[one]?.some((folder) => path.startsWith(folder)) === false)
  },
}

const files = readTree()

describe('architecture', () => {
  test(`sees the files (at least ${FILES_MIN})`, () => {
    expect(files.length).toBeGreaterThanOrEqual(FILES_MIN)
    for (const name of Object.keys(ALLOWED))
      expect(files.some(({ path }) => path.startsWith(`packages/${name}/src/`))).toBe(true)
  })

  test.each(Object.entries(rules))('%s', (_name, rule) => {
    const offenders = files.flatMap((file) => {
      const offence = rule(file)
      return offence === undefined ? [] : [`${file.path}: ${offence}`]
    })
    expect(offenders).toEqual([])
  })

  test('main.ts of a service has at most 80 lines', () => {
    const mains = files.filter(({ path }) => /^services\/[^/]+\/src\/main\.ts$/.test(path))
    expect(mains.length).toBeGreaterThanOrEqual(6)
    expect(mains.filter(({ text }) => text.trimEnd().split('\n').length > 80).map(({ path }) => path)).toEqual([])
  })

  test.each([
    ['a package imports only what lies below it', 'packages/kernel/src/a.ts', "import { x } from '@bigtap/store'"],
    ['a service imports no other service', 'services/cart/src/a.ts', "import { x } from '@bigtap/counter/main'"],
    ['no production code imports the tools of the tests', 'services/cart/src/a.ts', "import '@bigtap/testkit'"],
    ['a core is pure', 'services/middle/src/core/a.ts', 'const at = Date.now()'],
    ['a core is pure', 'services/middle/src/core/a.ts', "import { join } from 'node:path'"],
    ['the kernel and the domain know no machine', 'packages/domain/src/a.ts', 'const x = Math.random()'],
    ['a client library has one importer', 'services/cart/src/a.ts', "import {\n  Redis,\n} from 'ioredis'"],
  ])('the rule "%s" can fail', (name, path, text) => {
    expect(rules[name]?.({ path, text, imports: importsOf(text), valueImports: valueImportsOf(text) })).toBeDefined()
  })
})

function packageOf(module: string): string | undefined {
  return /^@bigtap\/([^/]+)/.exec(module)?.[1]
}
