import { expect, test } from 'vitest'
import { createLogger } from './logger.ts'

function linesOf(level: string, log: (logger: ReturnType<typeof createLogger>) => void): Record<string, unknown>[] {
  const lines: string[] = []
  log(createLogger({ service: 'test', level }, { write: (line) => void lines.push(line) }))
  return lines.map((line) => JSON.parse(line))
}

test('a line is one JSON object with service, level, fields and message', () => {
  const lines = linesOf('info', (logger) => logger.child({ activityId: 7 }).info({ units: 3 }, 'stock was added'))

  expect(lines).toMatchObject([{ service: 'test', level: 'info', activityId: 7, units: 3, msg: 'stock was added' }])
})

test('tokens, sessions and uids never reach a line', () => {
  const fields = { uid: 12_345, token: 'tok-en', request: { authorization: 'Bearer ey', cookie: 'bt_session=ey' } }

  const text = JSON.stringify(linesOf('info', (logger) => logger.warn(fields, 'refused')))

  for (const secret of ['12345', 'tok-en', 'Bearer', 'bt_session']) expect(text).not.toContain(secret)
})

test('an error is told with its code, its stack and its cause', () => {
  const error = Object.assign(new Error('outer', { cause: new TypeError('inner') }), { code: 'LINK_LOST' })

  const [line] = linesOf('info', (logger) => logger.error({ error }, 'failed'))

  expect(line?.error).toMatchObject({ message: 'outer', code: 'LINK_LOST', cause: 'TypeError: inner' })
})

test('an unknown level is info', () => {
  const lines = linesOf('loud', (logger) => {
    logger.debug({}, 'not told')
    logger.info({}, 'told')
  })

  expect(lines.map(({ msg }) => msg)).toEqual(['told'])
})
