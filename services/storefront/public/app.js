/** The buyer's page: sign in, watch the countdown, buy, wait in the queue, pay. No library, no build step. */

import { earnPass, prepare } from './challenge.js'
import { admissionText, nearness, waitingText } from './waiting.js'

const $ = (id) => document.getElementById(id)
const state = {
  session: sessionStorage.getItem('session'),
  uid: sessionStorage.getItem('uid'),
  offsetMs: 0,
  activity: null,
  isBusy: false,
}
const wantedId = Number(new URLSearchParams(location.search).get('activity'))
const POLL_MS = 1500
const RETRY_MS_DEFAULT = 1000

const MESSAGES = {
  sold_out: 'Sold out. If a unit comes back, the button lights up again.',
  already_bought: 'You have already bought this product.',
  rule_refused: 'The rule of this sale does not allow another one.',
  not_reserved: 'This sale is only for buyers with a reservation.',
  blocked: 'This account cannot buy at the moment.',
  no_session: 'Please sign in first.',
  bad_ticket: 'The link has run out. Please try again.',
  challenge_required: 'The check before the sale did not work. Please try again.',
  token_expired: 'Your place has run out. Please try again.',
}

/** One call; the answer's JSON with its status. A lost connection is status 0. */
async function call(method, path, body, more = {}) {
  const headers = state.session ? { authorization: `Bearer ${state.session}`, ...more } : { ...more }
  if (body !== undefined) headers['content-type'] = 'application/json'
  try {
    const answer = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    })
    const json = await answer.json().catch(() => ({}))
    return { ...json, status: answer.status }
  } catch {
    return { status: 0 }
  }
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const now = () => Date.now() + state.offsetMs

async function signIn(event) {
  event.preventDefault()
  const uid = Number($('uid').value)
  const answer = await call('POST', '/v1/session', { uid })
  if (answer.status !== 200)
    return show(answer.status === 0 ? 'The shop cannot be reached.' : 'That number cannot be used.')
  state.session = answer.session
  state.uid = String(answer.uid)
  sessionStorage.setItem('session', state.session)
  sessionStorage.setItem('uid', state.uid)
  hide()
  render()
  await showOrders()
}

/** Follows the activity that the address names (`?activity=7`), else the newest that is not over, else the newest. */
async function poll() {
  const list = await call('GET', '/v1/activities')
  const all = Array.isArray(list.activities) ? list.activities : []
  const rank = (activity) =>
    ['open', 'paused'].includes(activity.state) ? 2 : ['closed', 'archived'].includes(activity.state) ? 0 : 1
  const [best] = [...all].sort((a, b) => rank(b) - rank(a) || b.id - a.id)
  state.activity = all.find(({ id }) => id === wantedId) ?? best ?? null
  if (best?.now) state.offsetMs = best.now - Date.now()
  render()
  prepareEarly()
}

/** A challenge is solved before the opening, so that the rush finds the buyer with a pass. */
function prepareEarly() {
  const { activity, session, uid } = state
  if (!activity?.skus[0] || !session) return
  prepare(activity, uid, now(), pathCall(activity.id, activity.skus[0].id)).catch(() => undefined) // asked again when buying
}

/** The call for the hidden path of a product, with the headers of a challenge. */
const pathCall = (activityId, skuId) => (headers) =>
  call('GET', `/v1/activities/${activityId}/skus/${skuId}/path`, undefined, headers)

function render() {
  $('sign-in').hidden = Boolean(state.session)
  $('who').hidden = !state.session
  $('who').textContent = state.session ? `Buyer ${state.uid}` : ''
  const { activity } = state
  if (!activity) return
  $('title').textContent = activity.title
  renderProducts(activity)
  tick()
}

function renderProducts(activity) {
  const box = $('products')
  for (const sku of activity.skus) {
    let card = box.querySelector(`[data-key="${activity.id}:${sku.id}"]`)
    if (!card) {
      card = productCard(activity, sku)
      box.append(card)
    }
    const button = card.querySelector('button')
    const isOpen = activity.state === 'open' && now() >= activity.opensAt
    button.disabled = !isOpen || sku.soldOut || state.isBusy || !state.session
    button.textContent = sku.soldOut ? 'Sold out' : isOpen ? (state.session ? 'Buy now' : 'Sign in to buy') : 'Not yet'
    card.querySelector('.state').textContent = stateText(activity, sku)
  }
  for (const card of [...box.children]) if (!card.dataset.key.startsWith(`${activity.id}:`)) card.remove()
}

function productCard(activity, sku) {
  const card = document.createElement('article')
  card.className = 'product'
  card.dataset.key = `${activity.id}:${sku.id}`
  const parts = [
    ['div', 'picture', ''],
    ['h2', '', sku.title],
    ['div', 'price', price(sku.priceCents, sku.currency)],
    ['p', 'state', ''],
  ]
  for (const [tag, name, text] of parts) {
    const part = document.createElement(tag)
    part.className = name
    part.textContent = text
    if (name === 'picture') part.append(picture(sku.imageUrl))
    card.append(part)
  }
  const button = document.createElement('button')
  button.type = 'button'
  button.addEventListener('click', () => buy(activity.id, sku))
  card.append(button)
  return card
}

function picture(imageUrl) {
  const image = document.createElement('img')
  image.src = imageUrl || '/rabbit.svg'
  image.alt = ''
  return image
}

function stateText(activity, sku) {
  if (activity.state === 'paused') return 'The sale is paused for a moment.'
  if (['closed', 'archived'].includes(activity.state)) return 'The sale is over.'
  if (sku.soldOut) return 'All units are sold.'
  const limit = sku.limitPerBuyer ? `At most ${sku.limitPerBuyer} for each buyer. ` : ''
  return `${limit}${admissionText(activity, now())}`.trim()
}

function tick() {
  const { activity } = state
  if (!activity) return
  const leftMs = activity.opensAt - now()
  if (['closed', 'archived'].includes(activity.state)) $('clock').textContent = 'The sale is over.'
  else if (leftMs > 0) $('clock').textContent = `Opens in ${clock(leftMs)}`
  else $('clock').textContent = activity.skus.every((sku) => sku.soldOut) ? 'Sold out' : 'On sale now'
}

function clock(ms) {
  const seconds = Math.ceil(ms / 1000)
  const two = (value) => String(value).padStart(2, '0')
  return `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}

function price(cents, currency) {
  return new Intl.NumberFormat(navigator.language, { style: 'currency', currency }).format(cents / 100)
}

/** The way of one purchase: path, then ask until the answer is final, then cart. */
async function buy(activityId, sku) {
  if (state.isBusy) return
  state.isBusy = true
  render()
  try {
    const token = await waitForGrant(activityId, sku)
    if (token) await checkOut(token)
  } finally {
    state.isBusy = false
    render()
  }
}

async function waitForGrant(activityId, sku) {
  let path
  show(`Asking for ${sku.title} …`, { waiting: true })
  for (;;) {
    if (!path) {
      const found = await findPath(activityId, sku.id)
      if (found.status === 200) path = found.path
      else if (isFinal(found)) return fail(found)
      else await sleep(found.retryAfterMs ?? RETRY_MS_DEFAULT)
      continue
    }
    const answer = await call('GET', path)
    if (answer.status === 200) return answer.token
    if (answer.code === 'bad_ticket') path = undefined
    else if (isFinal(answer)) return fail(answer)
    if (answer.status === 202) showPlace(answer)
    else show('Many people are here. Hold on …', { waiting: true })
    await sleep(answer.retryAfterMs ?? RETRY_MS_DEFAULT)
  }
}

/** The path call; where a challenge is asked, the call after it. */
async function findPath(activityId, skuId) {
  const callPath = pathCall(activityId, skuId)
  const asked = await callPath({})
  if (asked.status !== 428) return asked
  const earned = await earnPass(activityId, callPath, asked)
  // Another product may have earned the pass: its path is not ours.
  return earned.status === 428 ? earned : callPath({})
}

const isFinal = ({ status }) => [401, 403, 404, 409, 410, 428].includes(status)

/** The place in words; the rabbits come nearer with it. */
function showPlace(answer) {
  show(waitingText(answer, state.activity, now()), { waiting: true })
  $('turn').style.setProperty('--nearness', String(nearness(answer)))
}

function fail(answer) {
  show(MESSAGES[answer.code] ?? 'That did not work. Please try again.')
  return undefined
}

async function checkOut(token) {
  show('You have a place! Putting it into the cart …', { waiting: true })
  for (;;) {
    const order = await call('POST', '/v1/cart', { token })
    if (order.status === 200 || order.status === 201) return offerPayment(order)
    if (order.status !== 0 && order.status !== 503) return fail(order)
    await sleep(order.retryAfterMs ?? RETRY_MS_DEFAULT)
  }
}

async function offerPayment(order) {
  const until = new Date(order.payBy).toLocaleTimeString()
  show(
    `It is yours. Please pay ${price(order.priceCents * order.quantity, order.currency ?? 'CNY')} before ${until}.`,
    {
      actions: [
        ['Pay now', () => pay(order.orderId)],
        ['Give it back', () => cancel(order.orderId), 'quiet'],
      ],
    },
  )
  await showOrders()
}

async function pay(orderId) {
  const payment = await call('POST', `/v1/orders/${orderId}/payment`, { method: 'sandbox' })
  if (payment.status !== 202) return fail(payment)
  show('Paying …', { waiting: true })
  await call('POST', new URL(payment.redirectUrl, location.href).pathname, { outcome: 'paid' })
  for (let tries = 0; tries < 40; tries++) {
    const order = await call('GET', `/v1/orders/${orderId}`)
    if (order.state === 'paid') {
      show('Paid. Thank you! Your order is on its way.')
      break
    }
    if (['expired', 'refund_pending', 'refunded'].includes(order.state)) {
      show('The time to pay had run out. Your money comes back.')
      break
    }
    await sleep(500)
  }
  await showOrders()
}

async function cancel(orderId) {
  const answer = await call('POST', `/v1/orders/${orderId}/cancel`)
  show(answer.status === 200 ? 'Given back. Somebody else can have it now.' : 'It could not be given back.')
  await showOrders()
}

async function showOrders() {
  if (!state.session) return
  const answer = await call('GET', '/v1/orders')
  const orders = Array.isArray(answer.orders) ? answer.orders : []
  $('orders-section').hidden = orders.length === 0
  $('orders').replaceChildren(...orders.map(orderLine))
}

function orderLine(order) {
  const line = document.createElement('li')
  const id = document.createElement('code')
  id.textContent = order.orderId
  const what = document.createElement('span')
  what.textContent = `${order.quantity} × ${price(order.priceCents, order.currency ?? 'CNY')} · ${order.state.replace('_', ' ')}`
  line.append(what, id)
  if (['accepted', 'held'].includes(order.state)) line.append(button('Pay', () => pay(order.orderId), ''))
  return line
}

function show(text, { waiting = false, actions = [] } = {}) {
  $('turn').hidden = false
  $('turn').classList.toggle('waiting', waiting)
  $('message').textContent = text
  $('actions').replaceChildren(...actions.map(([label, act, look = '']) => button(label, act, look)))
}

function hide() {
  $('turn').hidden = true
}

function button(label, act, look) {
  const made = document.createElement('button')
  made.type = 'button'
  made.textContent = label
  made.className = look
  made.addEventListener('click', act)
  return made
}

$('sign-in').addEventListener('submit', signIn)
setInterval(tick, 250)
setInterval(poll, POLL_MS)
await poll()
await showOrders()
