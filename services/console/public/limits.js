/** The form of an activity's access limits: what is being edited is never overwritten by what is read. */

import { byId, call, cell, element, keyed, problemText, session, setText } from './page.js'

const SCOPES = {
  ...{ uid: 'each buyer', ip: 'each address', subnet: 'each subnet (/24, /64)' },
  ...{ sku: 'each product, all buyers', global: 'all buyers together' },
}
const ALGORITHMS = {
  ...{ 'fixed-window': 'fixed window', 'sliding-window': 'sliding window' },
  ...{ 'leaky-bucket': 'leaky bucket', 'token-bucket': 'token bucket' },
}
const NEW_LIMIT = { scope: 'uid', algorithm: 'sliding-window', seconds: 1, maxCount: 5 }
/** In these states the limits may change. */
const OPEN_TO_CHANGE = ['draft', 'scheduled', 'preloading', 'armed', 'open', 'paused']

let shownId = ''
/** `shown` is what is in force; what is `edited`, or on its way (`saving`), is not overwritten by what is read. */
let state = 'shown'
let nextRow = 1
let rows = []
/** The limits that the rows were made of; none while they are edited. */
let drawn = ''

byId('limits-sale').addEventListener('change', () => void show(byId('limits-sale').value))
byId('undo-limits').addEventListener('click', () => void show(shownId))
byId('limits').addEventListener('input', () => touched())
byId('limits').addEventListener('submit', (event) => {
  event.preventDefault()
  void save()
})

/** The activities that can be chosen. */
export function drawLimits(sales) {
  const choice = byId('limits-sale')
  keyed(
    choice,
    sales,
    ({ id }) => id,
    ({ id }) => element('option', '', { value: id }),
    (option, sale) => setText(option, `${sale.title} (activity ${sale.id}, ${sale.state})`),
  )
  const sale = sales.find(({ id }) => String(id) === choice.value)
  const mayChange = session.role !== 'viewer' && sale !== undefined && OPEN_TO_CHANGE.includes(sale.state)
  byId('limits-actions').hidden = !mayChange
  for (const field of byId('limit-rows').querySelectorAll('input, select, button')) field.disabled = !mayChange
}

/** Reads what is in force, unless it is being edited. */
export async function readLimits() {
  const id = byId('limits-sale').value
  if (state === 'shown' || id !== shownId) await show(id)
}

/** One more row, to be filled in. */
export function addLimit() {
  rows = [...rows, { key: nextRow++, limit: NEW_LIMIT }]
  touched()
  byId('limit-rows').lastElementChild?.querySelector('select')?.focus()
}

/** Takes over what is in force. */
async function show(id) {
  state = 'shown'
  if (id !== shownId) byId('limit-rows').replaceChildren()
  shownId = id
  const answer = id === '' ? { ok: false } : await call('GET', `activities/${id}`)
  if (!answer.ok || state !== 'shown' || id !== shownId) return
  setText(byId('limits-problem'), '')
  const { accessLimits } = answer.body
  if (JSON.stringify(accessLimits) !== drawn) {
    drawn = JSON.stringify(accessLimits)
    rows = accessLimits.map((limit) => ({ key: nextRow++, limit }))
  }
  draw()
}

function draw() {
  keyed(
    byId('limit-rows'),
    rows,
    ({ key }) => key,
    makeRow,
    () => undefined,
  )
  byId('no-limits').hidden = rows.length > 0
  const isEdited = state === 'edited'
  byId('undo-limits').disabled = !isEdited
  byId('limits').querySelector('[type=submit]').disabled = !isEdited
}

function makeRow({ key, limit }) {
  const row = element('li')
  const remove = element('button', 'quiet', { type: 'button' })
  remove.textContent = 'Remove'
  remove.addEventListener('click', () => {
    rows = rows.filter((one) => one.key !== key)
    touched()
  })
  row.append(
    labelled('for', select('scope', SCOPES, limit.scope)),
    labelled('at most', number('maxCount', limit.maxCount, '1')),
    labelled('in seconds', number('seconds', limit.seconds, 'any')),
    labelled('by', select('algorithm', ALGORITHMS, limit.algorithm)),
    labelled('burst', number('burst', limit.burst ?? '', '1', false)),
    remove,
  )
  return row
}

function labelled(name, field) {
  const label = cell('label', '', name)
  label.append(field)
  return label
}

function select(name, options, value) {
  const field = element('select', '', { name })
  for (const [key, words] of Object.entries(options)) {
    const option = element('option', '', { value: key })
    option.textContent = words
    field.append(option)
  }
  field.value = value
  return field
}

function number(name, value, step, isRequired = true) {
  const field = element('input', '', { name, type: 'number', min: step === '1' ? '1' : '0.001', step })
  field.required = isRequired
  field.value = value
  return field
}

function touched() {
  state = 'edited'
  drawn = ''
  draw()
}

async function save() {
  const accessLimits = [...byId('limit-rows').children].map((row) => {
    const read = (name) => row.querySelector(`[name=${name}]`).value
    const burst = read('burst') === '' ? {} : { burst: Number(read('burst')) }
    const numbers = { seconds: Number(read('seconds')), maxCount: Number(read('maxCount')) }
    return { scope: read('scope'), algorithm: read('algorithm'), ...numbers, ...burst }
  })
  const id = shownId
  state = 'saving'
  draw()
  const answer = await call('PATCH', `activities/${id}`, { accessLimits })
  setText(byId('limits-problem'), answer.ok ? '' : `Not saved: ${problemText(answer)}`)
  if (answer.ok) setText(byId('news'), 'The access limits are in force.')
  if (state !== 'saving') return // somebody has gone on editing, or to another sale
  state = answer.ok ? 'shown' : 'edited'
  if (answer.ok) await show(id)
  else draw()
}
