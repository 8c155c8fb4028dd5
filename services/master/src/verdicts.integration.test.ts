/** Verdicts and the documents of antiblack over the admin API: a real Redis, PostgreSQL, a router and a front of antiblack. */

import { createFront, type Front } from '@bigtap/catalog'
import { ABUSE_RULES_KEY, type AbuseRulesDoc, DEFAULT_ABUSE_RULES } from '@bigtap/domain'
import { nullLogger, nullMetrics } from '@bigtap/kernel'
import { decodeAbuseVerdicts } from '@bigtap/protocol'
import { AbuseBoard, AnswerBox } from '@bigtap/store'
import { SeededRandom, startPostgres, startRedis, waitFor } from '@bigtap/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExplainer } from '../../antiblack/src/explainer.ts'
import { Router } from '../../mdw-router/src/router.ts'
import { AdminRig, type Operator } from './test-support/admin-rig.ts'

const clusterSecret = 'links of the tests'
const parts = {
  ...{ clock: { now: () => Date.now(), monotonic: () => performance.now() }, random: new SeededRandom(3) },
  ...{ logger: nullLogger, metrics: nullMetrics },
}
let rig: AdminRig
let router: Router
let front: Front
let board: AbuseBoard
let operator: Operator

beforeAll(async () => {
  const at = { host: '127.0.0.1', port: 0, nodeId: 'router-1', clusterSecret, linksMax: 16 }
  router = new Router(at, parts)
  const routers = [`127.0.0.1:${(await router.start()).port}`]
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()])
  rig = new AdminRig({ redis, postgres }, { warehouse: 'off', routers })
  await rig.start()
  board = new AbuseBoard(rig.store)
  const explain = (subject: { kind: string; key: string }) => ({ features: { asks: 40 }, rules: ['hasty'], subject })
  const engine = { explain } as unknown as Parameters<typeof createExplainer>[0]['engine']
  const answers = new AnswerBox(rig.store)
  front = createFront({
    ...{ ...parts, store: rig.store, service: 'antiblack', role: 'antiblack' },
    settings: { nodeId: 'antiblack-1', clusterSecret, routers, host: '127.0.0.1', address: '', port: 9_600 },
    onCall: createExplainer({ ...parts, nodeId: 'antiblack-1', engine, answers }),
  })
  for (const part of [...front.parts, front.heartbeat]) await part.start()
  operator = await rig.signedIn('operator')
}, 120_000)

afterAll(async () => {
  for (const part of [front.heartbeat, ...[...front.parts].reverse()]) await part.stop()
  await router.stop()
  await rig.stop()
})

const give = (subject: string, more: object = {}) =>
  operator.call('POST', 'verdicts', { subject, tier: 5, reason: 'resells', minutes: 60, ...more })
const reign = () => {
  const found = rig.master.reign()
  if (found === undefined) throw new Error('nobody leads')
  return found
}

test('an operator blocks a buyer, sees why, and lets him off again', async () => {
  expect(await give('uid:71234567')).toMatchObject({ status: 201, body: { kind: 'uid', tier: 5, by: 'operator' } })
  expect(await board.get('uid:71234567')).toMatchObject({ reason: 'resells', by: 'operator', score: 1 })

  const lifted = await operator.call('POST', 'verdicts/uid:71234567/lift', { reason: 'a regular' })

  expect(lifted).toMatchObject({ status: 200, body: { reason: 'resells' } })
  expect(await board.get('uid:71234567')).toBeUndefined()
  const { body } = await operator.call('GET', 'verdicts/uid:71234567')
  expect(body.verdict).toBeNull()
  expect((body.history as { reason: string }[]).map(({ reason }) => reason)).toEqual(['a regular', 'resells'])
  expect((await operator.call('POST', 'verdicts/uid:71234567/lift')).status).toBe(404)
})

test('who gave and lifted a verdict is in the audit, which names no whole uid', async () => {
  await give('uid:81234567')
  await operator.call('DELETE', 'verdicts/uid:81234567')

  const { entries } = (await operator.call('GET', 'audit?subject=verdict:uid')).body as {
    entries: { action: string }[]
  }

  expect(entries.slice(0, 2).map(({ action }) => action)).toEqual(['verdict.lift', 'verdict.add'])
  expect(JSON.stringify(entries)).not.toContain('81234567')
})

test('who reads along in the log hears of operators’ verdicts too', async () => {
  const heard: string[] = []
  const reader = rig.log.consumer({ topic: 'verdicts', group: 'reader' })
  await reader.run(async ({ records }) => {
    for (const { key, value } of records) heard.push(`${key} ${decodeAbuseVerdicts(value).verdicts[0]?.by}`)
  })

  await give('device:1f', { tier: 3 })

  await waitFor('the record', () => heard.includes('device:1f operator'))
  await reader.stop()
})

test('a viewer reads, and changes nothing; nobody changes anything without the CSRF header', async () => {
  const viewer = await rig.signedIn('viewer')

  expect((await viewer.call('GET', 'verdicts')).status).toBe(200)
  expect((await viewer.call('POST', 'verdicts', { subject: 'uid:9' })).status).toBe(403)
  operator.csrf = operator.csrf.replace(/^./, (first) => (first === 'a' ? 'b' : 'a'))
  expect((await give('uid:9')).status).toBe(403)
  operator = await rig.signedIn('operator')
})

test('an address is never blocked, and everything that is wrong is said', async () => {
  expect(await give('ip:10.0.0.1')).toMatchObject({ status: 400 })
  const { body } = await give('ip:10.0.0.999', { tier: 7, minutes: 0, reason: '' })
  expect(body.errors).toHaveLength(4)
})

test('verdicts are listed page by page, and by kind, tier, author', async () => {
  const at = Date.now()
  const said = Array.from({ length: 1_000 }, (_, index) => ({
    ...({
      id: `${index}`.padStart(16, '0'),
      kind: 'device',
      key: (index + 1).toString(16),
      tier: 2,
      reason: 'r',
    } as const),
    ...{ score: 0.5, at, expiresAt: at + 600_000, isShadow: index % 2 === 0, by: 'antiblack' },
  }))
  await board.say(said)
  await give('subnet:10.0.0', { tier: 3 })

  const seen = new Set<string>()
  let cursor = ''
  do {
    const { body } = await operator.call('GET', `verdicts?kind=device&limit=200${cursor && `&cursor=${cursor}`}`)
    for (const { key } of body.verdicts as { key: string }[]) seen.add(key)
    cursor = String(body.cursor ?? '')
  } while (cursor !== '')

  expect(seen.size).toBe(1_000)
  const found = async (query: string) => (await operator.call('GET', `verdicts?${query}`)).body.verdicts as unknown[]
  expect(await found('by=operator&tier=3&limit=500')).toMatchObject([{ kind: 'subnet', key: '10.0.0' }])
  expect(await found('subject=subnet:10.0.0')).toHaveLength(1)
  expect(await found('subject=subnet:10.0.0&isShadow=true')).toHaveLength(0)
  expect((await operator.call('GET', 'verdicts?limit=501&tier=9')).body.errors).toHaveLength(2)
})

test('antiblack itself says what it counts of a subject now', async () => {
  await waitFor('antiblack is linked', () =>
    reign()
      .watch.list()
      .some(({ role, isLinked }) => role === 'antiblack' && isLinked),
  )

  const { body } = await operator.call('GET', 'verdicts/ip:2001:db8::1')

  expect(body.asked).toEqual(['antiblack-1'])
  expect(body.live).toMatchObject([
    { nodeId: 'antiblack-1', explanation: { rules: ['hasty'], subject: { kind: 'ip', key: '2001:db8::1' } } },
  ])
})

test('rules are checked whole, published as a new version, and rolled back', async () => {
  const bad = await operator.call('PUT', 'abuse/rules', { isShadow: 'perhaps', rules: [{ name: 'UP' }] })
  expect(bad.status).toBe(400)
  const { builtIn } = (await operator.call('GET', 'abuse/rules')).body
  expect(builtIn).toEqual(DEFAULT_ABUSE_RULES)
  expect((bad.body.errors as string[]).length).toBeGreaterThan(3)
  expect(await rig.doc(ABUSE_RULES_KEY)).toBeUndefined()

  const [first] = DEFAULT_ABUSE_RULES.rules
  expect(await operator.call('PUT', 'abuse/rules', { isShadow: true, version: 900 })).toMatchObject({
    body: { version: 1 },
  })
  expect(await operator.call('PUT', 'abuse/rules', { rules: [first] })).toMatchObject({ body: { version: 2 } })
  await waitFor('antiblack has them', () => front.mirror.abuseRules()?.rules.length === 1)

  expect(await operator.call('POST', 'abuse/rules/rollback', { version: 1 })).toMatchObject({ body: { version: 3 } })
  await waitFor('antiblack has them', () => front.mirror.abuseRules()?.isShadow === true)
  expect(front.mirror.abuseRules()?.version).toBe(3)
  const { versions } = (await operator.call('GET', 'abuse/rules/versions')).body as { versions: { version: number }[] }
  expect(versions.map(({ version }) => version)).toEqual([1, 2, 3])
})

test('another leader, and an emptied Redis, have the rules in force again', async () => {
  await operator.call('PUT', 'abuse/rules', { isShadow: true })
  await rig.stopMaster()
  await rig.store.redis.flushall()
  await rig.start()
  operator = await rig.signedIn('operator')

  const published = await waitFor('the rules', () => rig.doc<AbuseRulesDoc>(ABUSE_RULES_KEY))

  expect(published).toMatchObject({ version: 4, isShadow: true })
  await operator.call('DELETE', 'abuse/rules')
  await waitFor('the built-in ones', () => front.mirror.abuseRules() === undefined)
  expect((await operator.call('GET', 'abuse/rules')).body).toMatchObject({ version: 5, doc: null })
})

test('a model that is too large is refused, whatever is in it', async () => {
  const weights = Array.from({ length: 4_096 }, (_, index) => 0.123_456_789_012 + index / 1e6)
  const places = weights.map((_, index) => index)
  const model = { featureSchema: 1, bias: 0, places, weights, calibration: { a: 1, b: 0 }, trainedOn: 'x' }
  const steps = [{ score: 0.9, tier: 4, forSeconds: 60 }]

  expect((await operator.call('PUT', 'abuse/model', { ...model, steps })).status).toBe(413)
  const rounded = weights.map((weight) => Math.round(weight * 1e4) / 1e4)
  expect((await operator.call('PUT', 'abuse/model', { ...model, steps, weights: rounded })).status).toBe(200)
  await waitFor('antiblack has it', () => front.mirror.abuseModel()?.weights.length === 4_096)
})
