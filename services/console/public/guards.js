/** What keeps crowds out: access limits, shedding and the shares of budgets, limiter by limiter; and the verdicts. */

import { addLimit, drawLimits, readLimits } from './limits.js'
import { badge, byId, call, cell, element, keyed, problemText, session, setText, spanOf, text } from './page.js'

const SCOPES = ['uid', 'ip', 'subnet', 'sku', 'global']
const SHOWN_MAX = 100
const COHORTS = 16
const RANKS = 96
const TIERS = [0, 1, 2, 3, 4, 5]
const TIER_TONES = ['good', 'good', 'quiet', 'warn', 'warn', 'bad']

byId('find-verdict').addEventListener('submit', (event) => {
  event.preventDefault()
  const subject = byId('verdict-subject').value.trim()
  if (subject === '') void readVerdicts()
  else void explain(subject)
})
byId('close-explanation').addEventListener('click', () => {
  byId('explanation').hidden = true
})
byId('add-limit').addEventListener('click', () => addLimit())

/** Reads it all once; `sales` are the activities of the stream. */
export async function readGuards(sales) {
  drawLimits(sales)
  await Promise.all([readDoors(), readVerdicts(), readLimits()])
}

async function readDoors() {
  const answer = await call('GET', 'figures')
  const nodes = answer.ok ? answer.body.nodes.filter(({ role }) => role === 'limiter') : []
  byId('no-doors').hidden = nodes.length > 0
  keyed(byId('doors'), nodes, ({ id }) => id, makeDoor, setDoor)
}

function makeDoor() {
  const row = element('tr')
  row.append(cell('th', 'id', '', { scope: 'row' }), cell('td', 'number asks'), cell('td', 'number share'))
  for (const scope of SCOPES) row.append(cell('td', `number by-${scope}`))
  const lets = element('td')
  lets.append(element('span', 'badge lets'))
  row.append(lets, cell('td', 'number wait'), cell('td', 'number shed'), cell('td', 'tiers'))
  return row
}

function setDoor(row, { id, figures }) {
  const rate = (name) => (figures[name] ?? 0).toLocaleString('en', { maximumFractionDigits: 1 })
  text(row, '.id', id)
  text(row, '.asks', rate('askRate'))
  text(row, '.share', `${((figures.budgetShare ?? 1) * 100).toFixed(1)} %`)
  for (const scope of SCOPES) text(row, `.by-${scope}`, rate(`limitedRate.${scope}`))
  text(row, '.wait', `${rate('queueWaitMs')} ms`)
  text(row, '.shed', rate('shedRate'))
  text(row, '.tiers', TIERS.map((tier) => rate(`shedOfRate.${tier}`)).join(' · '))
  const shut = figures.shedRanks ?? 0
  badge(row.querySelector('.lets'), shutText(RANKS - shut), shut === 0 ? 'good' : shut > RANKS / 2 ? 'bad' : 'warn')
}

/** Ranks are tier x 16 + cohort; those from the threshold on are shed. */
function shutText(threshold) {
  if (threshold >= RANKS) return 'everybody'
  const [tier, cohort] = [Math.floor(threshold / COHORTS), threshold % COHORTS]
  if (threshold <= 0) return 'nobody'
  if (cohort === 0) return `up to tier ${tier - 1}`
  return `up to tier ${tier}, ${Math.round((cohort / COHORTS) * 100)} % of it`
}

async function readVerdicts() {
  const answer = await call('GET', `verdicts?limit=${SHOWN_MAX}`)
  if (!answer.ok) return setText(byId('verdict-count'), `Verdicts cannot be read: ${problemText(answer)}`)
  const { verdicts, cursor } = answer.body
  const shown = [...verdicts].sort((a, b) => b.tier - a.tier || b.at - a.at).slice(0, SHOWN_MAX)
  const more = cursor === undefined ? '' : `, the first ${shown.length} of more`
  setText(
    byId('verdict-count'),
    verdicts.length === 0 ? 'No verdict is in force.' : `${verdicts.length} in force${more}.`,
  )
  byId('verdict-table').hidden = shown.length === 0
  keyed(byId('verdicts'), shown, subjectOf, makeVerdict, setVerdict)
}

const subjectOf = ({ kind, key }) => `${kind}:${key}`

function makeVerdict(verdict) {
  const subject = subjectOf(verdict)
  const row = element('tr')
  const tier = element('td')
  tier.append(element('span', 'badge tier'))
  const actions = element('td')
  const buttons = element('div', 'actions')
  buttons.append(button('Explain', () => explain(subject)))
  if (session.role !== 'viewer') buttons.append(button('Lift', () => lift(subject)))
  actions.append(buttons)
  row.append(cell('th', 'subject', '', { scope: 'row' }), tier, cell('td', 'reason'), cell('td', 'number score'))
  row.append(cell('td', 'by'), cell('td', 'number ends'), actions)
  return row
}

function setVerdict(row, verdict) {
  text(row, '.subject', subjectOf(verdict))
  text(row, '.reason', verdict.reason)
  text(row, '.score', verdict.score.toFixed(2))
  text(row, '.by', verdict.by)
  text(row, '.ends', spanOf(verdict.expiresAt - Date.now()))
  const name = `${verdict.tier}${verdict.isShadow ? ' shadow: changes nothing' : ''}`
  badge(row.querySelector('.tier'), name, verdict.isShadow ? 'quiet' : TIER_TONES[verdict.tier])
}

function button(label, act) {
  const made = element('button', 'quiet', { type: 'button' })
  made.textContent = label
  made.addEventListener('click', async () => {
    made.disabled = true
    await act()
    made.disabled = false
  })
  return made
}

async function lift(subject) {
  const reason = prompt(`Why is the verdict about ${subject} lifted?`)
  if (reason === null) return
  const answer = await call('POST', `verdicts/${encodeURIComponent(subject)}/lift`, reason === '' ? {} : { reason })
  byId('problem').textContent = answer.ok ? '' : `Lift: ${problemText(answer)}`
  if (answer.ok) setText(byId('news'), `The verdict about ${subject} is lifted.`)
  await readVerdicts()
}

/** What stands, what was said before, and what antiblack makes of it now. */
async function explain(subject) {
  const answer = await call('GET', `verdicts/${encodeURIComponent(subject)}`)
  const box = byId('explanation')
  box.hidden = false
  setText(byId('explanation-title'), subject)
  const rows = answer.ok ? explanationOf(answer.body) : [['Problem', problemText(answer)]]
  box
    .querySelector('dl')
    .replaceChildren(...rows.flatMap(([name, value]) => [cell('dt', '', name), cell('dd', '', value)]))
  box.scrollIntoView({ block: 'nearest' })
}

function explanationOf({ verdict, history, live, asked }) {
  const rows = [['In force', verdict === null ? 'nothing' : sentenceOf(verdict)]]
  for (const one of history) rows.push([new Date(one.at).toLocaleTimeString(), sentenceOf(one)])
  for (const { nodeId, explanation } of live) rows.push(...liveRows(nodeId, explanation))
  if (asked.length === 0) rows.push(['Now', 'no antiblack is linked: nobody can say what the figures are'])
  else if (live.length < asked.length)
    rows.push(['Now', `${asked.length - live.length} of ${asked.length} did not answer`])
  return rows
}

/** Each part of what a process of antiblack says, as it names it. */
function liveRows(nodeId, explanation) {
  if (explanation === null || typeof explanation !== 'object') return [[nodeId, 'knows nothing of it']]
  return Object.entries(explanation).map(([name, value]) => [
    `${nodeId}: ${name}`,
    name === 'verdict' && value ? sentenceOf(value) : plain(value),
  ])
}

function plain(value) {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(plain).join('; ')
  if (typeof value === 'number') return value.toLocaleString('en', { maximumFractionDigits: 3 })
  if (value === null || typeof value !== 'object') return String(value)
  const parts = Object.entries(value).map(([name, one]) => `${name} ${plain(one)}`)
  return parts.length === 0 ? 'none' : parts.join(', ')
}

function sentenceOf({ tier, reason, score, by, isShadow, at, expiresAt }) {
  if (expiresAt <= at) return `lifted by ${by}: ${reason}`
  return `tier ${tier}${isShadow ? ' (shadow)' : ''} by ${by}: ${reason}, score ${score.toFixed(2)}`
}
