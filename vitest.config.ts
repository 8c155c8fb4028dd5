import { defineConfig } from 'vitest/config'

const resolve = { conditions: ['source'] }
const project = (name: string, include: string[], exclude: string[], testTimeout: number, fileParallelism = true) => ({
  resolve,
  ssr: { resolve },
  test: {
    name,
    fileParallelism,
    include,
    exclude: ['**/node_modules/**', '**/dist/**', ...exclude],
    testTimeout,
    hookTimeout: testTimeout * 2,
  },
})

/** unit: no process, no socket. integration: real engines on loopback. e2e: the whole platform as processes. */
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      project('unit', ['**/*.test.ts'], ['**/*.integration.test.ts', '**/*.e2e.test.ts'], 10_000),
      project('integration', ['**/*.integration.test.ts'], [], 60_000),
      project('e2e', ['**/*.e2e.test.ts'], [], 180_000, false),
    ],
  },
})
