/** How machines behave: they fire at their own beat whatever they are told, guess, and hold connections open. */

import { ask, askPath, isOver, RETRY_MS_DEFAULT, type Sale } from './asking.ts'
import type { Profile } from './profiles.ts'
import type { Visit } from './visit.ts'

/** Machines that solve a challenge when they meet one; the others do not know what it is. */
const SOLVERS: readonly Profile[] = ['farm', 'sharer']

/** Runs an abusive seat to the end; the token if it was granted one. */
export function abuse(visit: Visit, sale: Sale): Promise<string | undefined> {
  switch (visit.plan.profile) {
    case 'guesser':
      return guess(visit, sale)
    case 'slow':
      return sendSlowly(visit, sale)
    default:
      return fire(visit, sale)
  }
}

/** Asks round after round until it has one, nothing is left, or an account that several use has bought. */
async function fire(visit: Visit, sale: Sale): Promise<string | undefined> {
  const { plan } = visit
  const isAccountShared = plan.profile === 'sharer'
  let path: string | undefined
  for (let round = 0; round < plan.botAsks && sale.now() < sale.endsAt; round++) {
    if (isAccountShared && sale.stats.hasOrder(plan.uid)) return undefined
    path ??= await fetchPath(visit, sale)
    if (path === '') return undefined
    if (path !== undefined) {
      const asked = path
      const answers = await Promise.all(Array.from({ length: plan.clicks }, () => ask(visit, sale, asked)))
      const granted = answers.find((one) => one.kind === 'granted')
      if (granted) return granted.token
      if (answers.every((one) => one.status === 410)) return undefined
    }
    await sale.sleep(plan.botEveryMs)
  }
  return undefined
}

/** As a person's, but it does not wait for the opening, and goes on when it is blocked. */
async function fetchPath(visit: Visit, sale: Sale): Promise<string | undefined> {
  const { path, ...rest } = await askPath(visit, sale, SOLVERS.includes(visit.plan.profile))
  if (path !== undefined || !('answer' in rest)) return path
  return isOver(rest.answer) && (rest.answer.status === 410 || visit.plan.origin === undefined) ? '' : undefined
}

const GUESSED = [
  ...['/v1/buy/1', '/v1/buy/AAAAAAAAAAAAAAAAAAAAAAAA', '/admin', '/.env', '/v1/admin', '/v1/tickets'],
  ...['/v1/buy', '/wp-login.php', '/v1/activities/1/skus/1/buy', '/v1/path', '/api/v1/buy', '/v2/buy/1'],
]

/** Tries paths that were never given out, tickets that it has changed, and such of others. */
async function guess(visit: Visit, sale: Sale): Promise<string | undefined> {
  const { plan } = visit
  for (let round = 0; round < plan.botAsks && sale.now() < sale.endsAt; round++) {
    const chance = sale.draw()
    if (chance < 0.35) await probe(visit, sale)
    else {
      const asked = chance < 0.5 ? sale.stats.seenTicket : await forged(visit, sale)
      if (asked !== undefined) {
        const { kind, token, status } = await ask(visit, sale, asked)
        if (kind === 'granted') return token
        if (status === 410) return undefined
      }
    }
    await sale.sleep(plan.botEveryMs)
  }
  return undefined
}

async function probe(visit: Visit, sale: Sale): Promise<void> {
  const path = GUESSED[Math.floor(sale.draw() * GUESSED.length)] ?? '/'
  sale.stats.onProbe(visit.plan)
  await sale.client.call(visit.call({ method: 'GET', path }))
}

/** Its own ticket with one letter changed; its true one is left where other guessers find it. */
async function forged(visit: Visit, sale: Sale): Promise<string | undefined> {
  const { path } = await askPath(visit, sale, false)
  if (path === undefined) return undefined
  sale.stats.seenTicket = path
  const at = path.length - 1 - Math.floor(sale.draw() * 12)
  return `${path.slice(0, at)}${path[at] === 'A' ? 'B' : 'A'}${path.slice(at + 1)}`
}

/** Holds half a request open, then comes again. */
async function sendSlowly(visit: Visit, sale: Sale): Promise<undefined> {
  for (let round = 0; round < visit.plan.botAsks && sale.now() < sale.endsAt; round++) {
    await sale.slowSenders.hold(visit.nextFrom()?.address ?? '127.0.0.1', visit.session)
    await sale.sleep(Math.max(visit.plan.botEveryMs, RETRY_MS_DEFAULT))
  }
  return undefined
}
