/** docs/openapi.yaml by itself: it is sound, and knows every code that a service may answer. */

import { expect, test } from 'vitest'
import { PROBLEM_STATUS } from '../packages/domain/src/index.ts'
import { ApiDocument } from './openapi.ts'

const api = new ApiDocument()

test('every schema compiles, and every reference leads somewhere', () => {
  expect(api.compileAll().length).toBeGreaterThan(50)
  const text = JSON.stringify(api.document)
  for (const [, ref = ''] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const found = ref.split('/').reduce<unknown>((at, name) => (at as Record<string, unknown>)?.[name], api.document)
    expect([ref, typeof found]).toEqual([ref, 'object'])
  }
})

test('the problem codes are those of the platform, with their status', () => {
  const { schemas } = api.document.components as { schemas: { ProblemCode: { enum: string[] } } }
  expect([...schemas.ProblemCode.enum].sort()).toEqual(Object.keys(PROBLEM_STATUS).sort())
  const known = new Set(Object.values(PROBLEM_STATUS).map(String))
  for (const { path, method, responses } of api.operations)
    for (const status of Object.keys(responses))
      if (Number(status) >= 400) expect([method, path, status, known.has(status)]).toEqual([method, path, status, true])
})

test('every change of an operator says that it may be refused', () => {
  const changes = api.operations.filter(({ path, method }) => path.startsWith('/admin/v1/') && method !== 'GET')
  expect(changes.length).toBeGreaterThan(25)
  for (const { path, method, responses } of changes)
    if (!path.endsWith('/login'))
      expect([method, path, Object.keys(responses)]).toEqual([method, path, expect.arrayContaining(['401', '403'])])
})

test('an answer that the document does not allow is found', () => {
  const problem = { contentType: 'application/problem+json', status: 404 }
  const body = { type: 'about:blank', title: 'x', status: 404, code: 'not_found' }
  expect(api.check('GET', '/v1/orders/o1', { ...problem, body })).toEqual([])
  expect(api.check('GET', '/v1/orders/o1', { ...problem, body: { ...body, code: 'gone' } })).toHaveLength(1)
  expect(api.check('GET', '/v1/orders/o1', { ...problem, status: 418, body })).toHaveLength(1)
  expect(api.check('GET', '/v1/orders/o1', { ...problem, contentType: 'text/html', body })).toHaveLength(1)
  expect(api.check('GET', '/v1/nothing', { ...problem, body })).toHaveLength(1)
  expect(api.find('POST', '/admin/v1/rules/dry-run')?.path).toBe('/admin/v1/rules/dry-run')
})
