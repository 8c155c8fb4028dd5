/** What the parts of the page share: the session, one call, and small tools for elements. */

/** Who is signed in. */
export const session = { csrf: '', role: 'viewer' }
/** The element with this id. */
export const byId = (id) => document.getElementById(id)

/** Children of a list by key: those that stay keep their element, and with it the focus. */
export function keyed(parent, items, keyOf, make, set) {
  const known = new Map([...parent.children].map((child) => [child.dataset.key, child]))
  let last
  for (const item of items) {
    const key = String(keyOf(item))
    const child = known.get(key) ?? make(item)
    known.delete(key)
    child.dataset.key = key
    const place = last === undefined ? parent.firstElementChild : last.nextElementSibling
    if (place !== child) parent.insertBefore(child, place)
    set(child, item)
    last = child
  }
  for (const child of known.values()) child.remove()
}

/** A new element. */
export function element(tag, className = '', attributes = {}) {
  const node = document.createElement(tag)
  if (className !== '') node.className = className
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  return node
}

/** A new element with a text in it. */
export function cell(tag, className, content = '', attributes = {}) {
  const node = element(tag, className, attributes)
  node.textContent = content
  return node
}

/** A new item of a list. */
export function makeItem() {
  return element('li')
}

/** Writes a text where it differs: what is selected stays selected. */
export function setText(node, value) {
  if (node.textContent !== value) node.textContent = value
}

/** Writes a text into the first element that the selector finds. */
export function text(parent, selector, value) {
  setText(parent.querySelector(selector), value)
}

/** Writes a badge: its text and its tone (good, warn, bad, quiet). */
export function badge(node, value, tone) {
  setText(node, value)
  node.dataset.tone = tone
}

/** What an answer that is no success says. */
export function problemText({ status, body }) {
  if (status === 0) return 'master does not answer'
  if (status === 429) return `too many tries, wait ${Math.ceil((body.retryAfterMs ?? 60_000) / 1000)} s`
  return body.detail ?? body.errors?.join('; ') ?? body.title ?? `answer ${status}`
}

/** One call; what fails comes back as status 0. */
export async function call(method, path, body) {
  try {
    const answer = await fetch(`/admin/v1/${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(session.csrf === '' ? {} : { 'x-csrf-token': session.csrf }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const content = await answer.text()
    return { ok: answer.ok, status: answer.status, body: content === '' ? {} : JSON.parse(content) }
  } catch {
    return { ok: false, status: 0, body: {} }
  }
}

/** A span of ms as hh:mm:ss, or days and hours. */
export function spanOf(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000))
  const [days, hours] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3_600) % 24]
  if (days > 0) return `${days} d ${hours} h`
  const parts = [hours, Math.floor(seconds / 60) % 60, seconds % 60]
  return parts.map((part) => String(part).padStart(2, '0')).join(':')
}
