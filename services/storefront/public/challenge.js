/**
 * The check before the sale, as a buyer sees it: the device solves a small sum in the background, nothing is asked of the
 * person (WCAG 3.3.8). Who cannot or will not compute waits instead; both end with a pass in the cookie `bt_pass`.
 *
 *   428 ─► computing ─► solved ─► pass          computing ─ "let me wait", or no worker ─► waiting ─► pass
 */

const TRIES_MAX = 4
/** Not all pages may begin in the same second. */
const SPREAD_MS = 60_000
const REFUSED_MS = 2_000

const running = new Map()
const prepared = new Set()

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Earns a pass when the activity asks for one: the answer of the path call that is no 428. `callPath(headers)` makes that
 * call. One check at a time for each activity, whoever asks for it.
 */
export function earnPass(activityId, callPath, asked) {
  const known = running.get(activityId)
  if (known) return known
  const work = earn(callPath, asked).finally(() => running.delete(activityId))
  running.set(activityId, work)
  return work
}

/** Before the opening: solves the challenge of this buyer as soon as it may be asked for, once. */
export async function prepare(activity, uid, now, callPath) {
  const { mode = 'off', fromSeconds = 0 } = activity.challenge ?? {}
  const leftMs = activity.opensAt - now
  const key = `${activity.id}:${uid}`
  if (mode === 'off' || leftMs <= 0 || leftMs > fromSeconds * 1000 || prepared.has(key)) return
  prepared.add(key)
  await sleep(Math.random() * Math.min(SPREAD_MS, leftMs / 2))
  const answer = await callPath({})
  if (answer.status === 428) await earnPass(activity.id, callPath, answer)
  else if (answer.status !== 425) prepared.delete(key) // not reached: the next look tries again
}

async function earn(callPath, first) {
  const view = new View()
  try {
    let answer = first
    for (let tries = 0; answer.status === 428 && tries < TRIES_MAX; tries++) {
      const isLast = tries === TRIES_MAX - 1
      const solution = isLast || view.wantsToWait ? undefined : await solve(answer.challenge, view)
      answer = solution ? await callPath({ 'x-challenge': solution }) : await wait(callPath, view)
      if (answer.status === 0 || answer.status === 503) {
        await sleep(answer.retryAfterMs ?? REFUSED_MS)
        answer = await callPath({})
      }
    }
    view.close(answer.status !== 428)
    return answer
  } catch (error) {
    view.close(false)
    throw error
  }
}

/** What goes into the header, or undefined when it is waited for instead. */
async function solve(challenge, view) {
  const solution = await new Promise((resolve) => {
    const worker = startWorker()
    if (!worker || !challenge) return resolve(undefined)
    const end = (result) => {
      worker.terminate()
      resolve(result)
    }
    worker.onerror = () => end(undefined)
    worker.onmessage = ({ data }) => {
      if (data.of) view.showProgress(data.done / data.of)
      else end(data.derivedKey ? data : undefined)
    }
    view.computing(() => end(undefined))
    worker.postMessage({ parameters: challenge.parameters })
  })
  return solution && btoa(JSON.stringify({ challenge, solution }))
}

function startWorker() {
  try {
    return new Worker('/solver.js')
  } catch {
    return undefined // this browser has none: the buyer waits
  }
}

async function wait(callPath, view) {
  const asked = await callPath({ 'x-challenge': 'wait' })
  if (asked.status !== 428 || !asked.voucher) return asked
  await view.waiting(asked.retryAfterMs)
  return callPath({ 'x-challenge': asked.voucher })
}

/** Words for the quarters of the work, so that a screen reader is not told every percent. */
const QUARTERS = ['', 'A quarter is done.', 'Half is done.', 'Three quarters are done.']

/** The panel: what goes on in words, a bar, and the way out. */
class View {
  wantsToWait = false
  #panel = document.createElement('section')
  #words = document.createElement('p')
  #detail = document.createElement('p')
  #bar = document.createElement('progress')
  #button = document.createElement('button')
  #quarter = 0

  constructor() {
    this.#panel.className = 'turn'
    this.#panel.setAttribute('aria-label', 'Check before the sale')
    this.#words.setAttribute('role', 'status')
    this.#bar.max = 1
    this.#bar.setAttribute('aria-label', 'Progress of the check')
    this.#button.type = 'button'
    this.#button.className = 'quiet'
    this.#button.textContent = 'I cannot compute this, let me wait'
  }

  computing(onWait) {
    this.#quarter = 0
    this.#bar.value = 0
    this.#detail.textContent = ''
    this.#button.onclick = () => {
      this.wantsToWait = true
      onWait()
    }
    this.#show(this.#words, this.#bar, this.#detail, this.#button)
    this.#say('Your device is doing a short check before the sale. You need not do anything.')
  }

  showProgress(share) {
    this.#bar.value = share
    const quarter = Math.floor(share * 4)
    if (quarter === this.#quarter) return
    this.#quarter = quarter
    this.#say(`Your device is doing a short check before the sale. ${QUARTERS[quarter] ?? ''}`)
  }

  /** Resolves after the wait; the seconds are shown, and not read out one by one. */
  async waiting(waitMs) {
    const endsAt = performance.now() + waitMs
    const seconds = () => Math.max(0, Math.ceil((endsAt - performance.now()) / 1000))
    this.#bar.removeAttribute('value')
    this.#show(this.#words, this.#bar, this.#detail)
    this.#say(`You wait instead of computing, about ${seconds()} seconds. Please keep this page open.`)
    while (seconds() > 0) {
      this.#detail.textContent = `${seconds()} s`
      await sleep(250)
    }
  }

  close(isPassed) {
    this.#show(this.#words)
    this.#say(isPassed ? 'The check is done.' : 'The check did not work. Please try again.')
    setTimeout(() => this.#panel.remove(), isPassed ? 4_000 : 15_000)
  }

  /** A moment after the panel stands in the page: what was there before is not read out. */
  #say(text) {
    setTimeout(() => {
      this.#words.textContent = text
    }, 50)
  }

  /** The focus stays where it is: nothing here needs the buyer. */
  #show(...parts) {
    for (const part of [...this.#panel.children]) if (!parts.includes(part)) part.remove()
    for (const part of parts) if (part.parentNode !== this.#panel) this.#panel.append(part)
    if (!this.#panel.isConnected) document.querySelector('main')?.append(this.#panel)
  }
}
