import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Logger, nullLogger, nullMetrics } from '@bigtap/kernel'
import { FakeClock, waitFor } from '@bigtap/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { AlertWebhook, WEBHOOK_LIMITS } from './alert-webhook.ts'
import { Alarms } from './core/alarms.ts'

const clock = new FakeClock()
let server: Server
let bodies: Record<string, unknown>[]
let status: number
let url: string

beforeEach(async () => {
  bodies = []
  status = 200
  server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => (text += chunk))
    request.on('end', () => {
      bodies.push(JSON.parse(text))
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/very-secret`
})

afterEach(() => void server.close())

function start(logger: Logger = nullLogger): { alarms: Alarms; webhook: AlertWebhook } {
  const alarms = new Alarms()
  const webhook = new AlertWebhook({ url }, { clock, logger, metrics: nullMetrics })
  alarms.onChange((alarm) => webhook.tell(alarm))
  return { alarms, webhook }
}

test('the webhook is told when an alarm begins and when it is over, once each', async () => {
  const { alarms, webhook } = start()
  for (let times = 0; times < 3; times++) alarms.raise({ key: 'a', severity: 'critical', message: 'it burns' }, 5)
  alarms.clear('a', 9)
  await waitFor('both are told', () => bodies.length === 2)
  expect(bodies).toMatchObject([
    { key: 'a', state: 'firing', message: 'it burns', since: 5 },
    { key: 'a', state: 'cleared', clearedAt: 9 },
  ])
  await webhook.stop()
})

test('what is silenced, and rules that are not for it, are not told', async () => {
  const { alarms, webhook } = start()
  alarms.raise({ key: 'quiet', severity: 'info', message: 'x', data: { webhook: false } }, 1)
  alarms.raise({ key: 'a', severity: 'info', message: 'x' }, 1)
  alarms.silence('a', clock.now() + 1_000)
  alarms.clear('a', 2)
  await webhook.stop()
  expect(bodies.map(({ key }) => key)).toEqual(['a'])
})

test('a webhook that refuses is tried again, then the alarm falls, and its address stands in no log', async () => {
  status = 500
  const said: string[] = []
  const note = (fields: Record<string, unknown>, message: string) => void said.push(JSON.stringify([fields, message]))
  const logger: Logger = { ...nullLogger, warn: note, debug: note }
  const { alarms } = start(logger)
  alarms.raise({ key: 'a', severity: 'info', message: 'x' }, 1)
  await waitFor(
    'it is given up',
    () => said.some((line) => line.includes(`"tries":${WEBHOOK_LIMITS.triesMax}`)),
    10_000,
  )
  expect(bodies).toHaveLength(WEBHOOK_LIMITS.triesMax)
  expect(said.join()).not.toContain('very-secret')
})
