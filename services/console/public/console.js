/** The operator's page: signs in, follows the stream, shows it. What master says is written as text, never as markup. */

import { readGuards } from './guards.js'
import {
  badge,
  byId,
  call,
  cell,
  element,
  keyed,
  makeItem,
  problemText,
  session,
  setText,
  spanOf,
  text,
} from './page.js'

const STALE_MS = 3_000
const RETRY_MS = 2_000
const ALERTS_EVERY_MS = 2_000
const SILENCE_SECONDS = 600
const CLOCK_OFF_MS = 50
/** What an operator may do in each state; `loud` ones ask before. */
const ACTIONS = {
  scheduled: ['preload', 'reset'],
  preloading: ['arm', 'close'],
  armed: ['open', 'close'],
  open: ['pause', 'close'],
  paused: ['resume', 'close'],
  closed: ['archive'],
}
const LOUD = ['close', 'archive', 'reset', 'open']
const TONES = {
  ...{ open: 'good', releasing: 'good', tapering: 'good', trickling: 'good' },
  ...{ paused: 'warn', exhausted: 'warn', preloading: 'warn', armed: 'warn', soldOut: 'bad' },
}
const SEVERITIES = { critical: 'bad', warning: 'warn', info: 'quiet' }
const STATE_NAMES = { soldOut: 'sold out' }

let stream
let lastAt = 0
let clockOffsetMs = 0
let sales = []

byId('sign-in').addEventListener('submit', (event) => {
  event.preventDefault()
  void signIn()
})
byId('sign-out').addEventListener('click', () => void signOut())
setInterval(checkAge, 500)
setInterval(() => void readAlerts(), ALERTS_EVERY_MS)
setInterval(() => void readOthers(), ALERTS_EVERY_MS)
void resume()

/** Goes on with the session that the cookie holds, if it does. */
async function resume() {
  const answer = await call('GET', 'session')
  if (answer.ok) enter(answer.body)
  else if (answer.status === 401) showSignIn()
  else setTimeout(resume, RETRY_MS)
}

async function signIn() {
  const [name, password] = [byId('name').value, byId('password').value]
  const answer = await call('POST', 'login', { name, password })
  byId('sign-in-problem').textContent = answer.ok ? '' : problemText(answer)
  if (!answer.ok) return byId('password').select()
  byId('password').value = ''
  enter({ name, role: 'operator', ...answer.body })
}

async function signOut() {
  await call('POST', 'logout')
  leave()
}

function enter({ name, role, csrf }) {
  Object.assign(session, { csrf, role })
  byId('who').textContent = `${name} (${role})`
  for (const id of ['who', 'sign-out', 'live']) byId(id).hidden = false
  byId('sign-in').hidden = true
  follow()
}

function leave() {
  stream?.close()
  stream = undefined
  for (const id of ['who', 'sign-out', 'live']) byId(id).hidden = true
  showSignIn()
}

function showSignIn() {
  badge(byId('link'), 'not connected', 'quiet')
  byId('sign-in').hidden = false
  byId('password').focus()
}

/** The browser repeats by itself when the link breaks; not when the answer is an error, as after the session's end. */
function follow() {
  stream?.close()
  stream = new EventSource('/admin/v1/stream')
  stream.addEventListener('sale', ({ data }) => show(JSON.parse(data)))
  stream.addEventListener('error', async ({ target }) => {
    if (target.readyState !== EventSource.CLOSED || target !== stream) return
    const answer = await call('GET', 'session')
    if (answer.status === 401) leave()
    else setTimeout(() => target === stream && follow(), RETRY_MS)
  })
}

function checkAge() {
  if (stream === undefined || byId('live').hidden) return
  const ageMs = performance.now() - lastAt
  if (lastAt === 0) badge(byId('link'), 'connecting', 'warn')
  else if (ageMs > STALE_MS) badge(byId('link'), `stale: last heard ${Math.round(ageMs / 1000)} s ago`, 'bad')
}

function show(frame) {
  lastAt = performance.now()
  clockOffsetMs = frame.at - Date.now()
  if (frame.isRedisReady) badge(byId('link'), 'live', 'good')
  else badge(byId('link'), 'Redis is away: no figures', 'bad')
  keyed(byId('violations').querySelector('ul'), frame.violations, (text) => text, makeItem, setText)
  byId('violations').hidden = frame.violations.length === 0
  byId('no-sales').hidden = frame.activities.length > 0
  const newestFirst = [...frame.activities].reverse()
  sales = newestFirst
  keyed(byId('sales'), newestFirst, ({ id }) => id, makeSale, setSale)
  keyed(byId('nodes'), frame.nodes, ({ id }) => id, makeNode, setNode)
}

/** Limits, shedding and verdicts, which the stream does not tell. */
async function readOthers() {
  if (stream === undefined || byId('live').hidden) return
  await readGuards(sales)
}

/** What fires, and what waits for a yes. */
async function readAlerts() {
  if (stream === undefined || byId('live').hidden) return
  const [alerts, pending] = await Promise.all([call('GET', 'alerts?state=firing'), call('GET', 'pending')])
  if (alerts.ok) list('alerts', alerts.body.alerts, ({ key }) => key, makeAlert, setAlert)
  if (pending.ok) list('pending', pending.body.pending, ({ id }) => id, makeApproval, setApproval)
}

function list(id, items, keyOf, make, set) {
  keyed(byId(id).querySelector('ul'), items, keyOf, make, set)
  byId(id).hidden = items.length === 0
}

function makeRow(buttons) {
  const row = element('li')
  const actions = element('span', 'actions')
  if (session.role !== 'viewer') actions.append(...buttons)
  row.append(element('span', 'badge severity'), element('span', 'message'), element('span', 'since'), actions)
  return row
}

function makeAlert({ key }) {
  const path = `alerts/${encodeURIComponent(key)}`
  return makeRow([
    makeButton('Acknowledge', `${path}/acknowledge`, {}),
    makeButton('Silence 10 min', `${path}/silence`, { seconds: SILENCE_SECONDS }),
  ])
}

function setAlert(row, { severity, message, key, since, count, acknowledgedBy, silencedUntil }) {
  const now = Date.now() + clockOffsetMs
  badge(row.querySelector('.severity'), severity, SEVERITIES[severity] ?? 'quiet')
  text(row, '.message', `${message} (${key})`)
  const seen = acknowledgedBy === undefined ? '' : `, seen by ${acknowledgedBy}`
  const silence = silencedUntil > now ? `, silent for ${spanOf(silencedUntil - now)}` : ''
  text(row, '.since', `for ${spanOf(now - since)}${count > 1 ? `, ${count} times` : ''}${seen}${silence}`)
  row.classList.toggle('silent', acknowledgedBy !== undefined || silence !== '')
  row.querySelector('button')?.toggleAttribute('disabled', acknowledgedBy !== undefined)
}

function makeApproval({ id }) {
  return makeRow([makeButton('Yes', `pending/${id}/yes`, {}), makeButton('No', `pending/${id}/no`, {})])
}

function setApproval(row, { rule, subject, actions, expiresAt }) {
  badge(row.querySelector('.severity'), rule, 'warn')
  text(row, '.message', `${subject}: ${actions.map(actionText).join(', ')}`)
  text(row, '.since', `asked for ${spanOf(expiresAt - Date.now() - clockOffsetMs)} more`)
}

function actionText({ type, ...details }) {
  const given = Object.entries(details).map(([name, value]) => `${name} ${value}`)
  return [type, ...given].join(' ')
}

function makeButton(label, path, body) {
  const button = element('button', 'quiet', { type: 'button' })
  button.textContent = label
  button.addEventListener('click', async () => {
    button.disabled = true
    const answer = await call('POST', path, body)
    button.disabled = false
    byId('problem').textContent = answer.ok ? '' : `${label}: ${problemText(answer)}`
    void readAlerts()
  })
  return button
}

function makeSale(sale) {
  const node = element('article', 'card sale', { 'aria-labelledby': `sale-${sale.id}` })
  const head = element('div', 'sale-head')
  const title = element('h3', '', { id: `sale-${sale.id}` })
  head.append(title, element('span', 'badge state'), element('span', 'badge ledger'), element('span', 'times'))
  head.append(element('div', 'actions'))
  const columns = [
    ['Product', ''],
    ['State', ''],
    ['Sold, held, free', 'bar-cell'],
    ['Sold', 'number'],
    ['Held', 'number'],
    ['Free', 'number'],
    ['Stock', 'number'],
    ['Pool', 'number'],
    ['Leased', 'number'],
    ['Tokens out', 'number'],
    ['Pace /s', 'number'],
  ]
  const row = element('tr')
  for (const [text, name] of columns) row.append(cell('th', name, text, { scope: 'col' }))
  const table = element('table', 'skus')
  const [thead, tbody] = [element('thead'), element('tbody')]
  thead.append(row)
  table.append(thead, tbody)
  const scroll = element('div', 'scroll', { role: 'region', tabindex: '0', 'aria-labelledby': `sale-${sale.id}` })
  scroll.append(table)
  node.append(head, element('p', 'waiting'), scroll)
  return node
}

function setSale(node, sale) {
  text(node, 'h3', `${sale.title} (activity ${sale.id})`)
  tell(node, sale.state, `${sale.title}: ${stateName(sale.state)}`)
  badge(node.querySelector('.state'), stateName(sale.state), TONES[sale.state] ?? 'quiet')
  const ledger = node.querySelector('.ledger')
  ledger.hidden = sale.ledger !== 'rebuilding'
  badge(ledger, 'ledger is being rebuilt: no sales', 'bad')
  text(node, '.times', timesOf(sale))
  const waiting = node.querySelector('.waiting')
  waiting.hidden = sale.waitingFor.length === 0
  setText(waiting, `The opening waits for: ${sale.waitingFor.join(', ')}`)
  const actions = session.role === 'viewer' ? [] : (ACTIONS[sale.state] ?? [])
  keyed(
    node.querySelector('.actions'),
    actions,
    (name) => name,
    (name) => makeAction(sale, name),
    () => undefined,
  )
  keyed(node.querySelector('tbody'), sale.skus, ({ id }) => id, makeSku, setSku)
}

function makeAction(sale, name) {
  const button = element('button', 'quiet', { type: 'button' })
  button.textContent = `${name[0].toUpperCase()}${name.slice(1)}`
  button.addEventListener('click', async () => {
    if (LOUD.includes(name) && !confirm(`Really ${name} "${sale.title}"?`)) return
    button.disabled = true
    const answer = await call('POST', `activities/${sale.id}/actions/${name}`)
    button.disabled = false
    byId('problem').textContent = answer.ok ? '' : `${name}: ${problemText(answer)}`
  })
  return button
}

function makeSku() {
  const row = element('tr')
  const state = element('td')
  state.append(element('span', 'badge state'))
  const bar = element('div', 'bar', { role: 'img' })
  bar.append(element('span', 'sold'), element('span', 'held'), element('span', 'free'))
  const barCell = element('td', 'bar-cell')
  barCell.append(bar)
  row.append(cell('th', 'title', '', { scope: 'row' }), state, barCell)
  for (const name of ['n-sold', 'n-held', 'n-free', 'n-stock', 'n-pool', 'n-leased', 'n-tokens', 'n-pace'])
    row.append(cell('td', `number ${name}`))
  return row
}

function setSku(row, sku) {
  text(row, '.title', sku.title)
  tell(row, sku.state, `${sku.title}: ${stateName(sku.state)}`)
  badge(row.querySelector('.state'), stateName(sku.state), TONES[sku.state] ?? 'quiet')
  const whole = Math.max(1, sku.stock)
  for (const part of ['sold', 'held', 'free'])
    row.querySelector(`.${part}`).style.width = `${(sku[part] / whole) * 100}%`
  const label = `${sku.sold} sold, ${sku.held} held, ${sku.free} free of ${sku.stock}`
  row.querySelector('.bar').setAttribute('aria-label', label)
  const { sold, held, free, stock, pool, leased, outstanding: tokens } = sku
  const numbers = { sold, held, free, stock, pool, leased, tokens }
  for (const [name, value] of Object.entries(numbers)) text(row, `.n-${name}`, value.toLocaleString('en'))
  text(row, '.n-pace', sku.pacePerSecond === null ? 'no pace' : sku.pacePerSecond.toLocaleString('en'))
}

function makeNode() {
  const row = element('tr')
  row.append(cell('th', 'id', '', { scope: 'row' }))
  const names = ['role', 'state', 'address', 'number revision', 'digest', 'number clock', 'number age']
  for (const name of names) row.append(cell('td', name))
  return row
}

function setNode(row, node) {
  const isSilent = node.ageMs > STALE_MS
  row.classList.toggle('silent', isSilent)
  const ageText = `${(node.ageMs / 1000).toFixed(1)} s ago${isSilent ? ' (silent)' : ''}`
  const { id, role, address, revision, digest, clockOffsetMs: offset } = node
  const state = node.isLeader ? 'leader' : node.state
  const clock = offset === undefined || offset === null ? '' : `${Math.round(offset)} ms`
  row.querySelector('.clock').classList.toggle('problem', Math.abs(offset ?? 0) > CLOCK_OFF_MS)
  const values = { id, role, state: state ?? '', address, revision, digest, clock }
  for (const [name, value] of Object.entries({ ...values, age: ageText })) text(row, `.${name}`, String(value))
}

/** Says a change of state aloud, once; the first state is not news. */
function tell(node, state, sentence) {
  if (node.dataset.state !== undefined && node.dataset.state !== state) byId('news').textContent = sentence
  node.dataset.state = state
}

function timesOf({ state, opensAt, closesAt }) {
  const now = Date.now() + clockOffsetMs
  if (['scheduled', 'preloading', 'armed'].includes(state))
    return opensAt > now ? `opens in ${spanOf(opensAt - now)}` : `was due ${spanOf(now - opensAt)} ago`
  if (state === 'open' || state === 'paused')
    return `open for ${spanOf(now - opensAt)}, closes in ${spanOf(closesAt - now)}`
  return `opened ${new Date(opensAt).toLocaleString()}`
}

function stateName(state) {
  return STATE_NAMES[state] ?? state
}
