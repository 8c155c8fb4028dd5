/** One buyer's way through the sale, as a person at a browser (or a machine) would go it. */

import { abuse } from './abuser.ts'
import { type Asked, ask, askPath, isOver, RETRY_MS_DEFAULT, RETRY_MS_MIN, retryAfter, type Sale } from './asking.ts'
import type { BuyerPlan } from './buyer-plan.ts'
import { checkOut } from './till.ts'
import { Visit } from './visit.ts'

/** Runs one buyer to the end; never rejects. */
export async function runBuyer(plan: BuyerPlan, session: string, sale: Sale): Promise<void> {
  const visit = new Visit(plan, session)
  const token = plan.kind === 'bot' ? await abuse(visit, sale) : await person(visit, sale)
  if (token !== undefined && plan.leavesToken) sale.stats.tokensLeft++
  else if (token !== undefined) await checkOut(visit, sale, token)
  sale.stats.onEnd(visit)
}

/** A person waits as told, gives up when patience ends, and stops at a final answer. */
async function person(visit: Visit, sale: Sale): Promise<string | undefined> {
  const { plan } = visit
  const until = Math.min(Math.max(sale.now(), sale.opensAt) + plan.patienceMs, sale.endsAt)
  let path: string | undefined
  let clicks = 0
  while (sale.now() < until) {
    path ??= await fetchPath(visit, sale)
    if (path === undefined) continue
    if (path === '') return undefined
    const asked = path
    const answers = await Promise.all(Array.from({ length: plan.clicks }, () => ask(visit, sale, asked)))
    const granted = answers.find((one) => one.kind === 'granted')
    if (granted) return granted.token
    const last = answers.at(-1)
    if (last === undefined || [410, 409, 403].includes(last.status)) return undefined
    if (last.status === 400 || last.status === 425) path = undefined // the ticket ran out: take a new one
    const waitMs = clicks++ < plan.hurries ? plan.hurryMs : waitOf(plan, last)
    if (plan.refreshMs > 0 && waitMs >= plan.refreshMs) path = await reload(visit, sale)
    await sale.sleep(waitMs)
  }
  sale.stats.gaveUp++
  return undefined
}

/** A person who refreshes does not wait as long as told. */
function waitOf({ refreshMs }: BuyerPlan, { retryAfterMs }: Asked): number {
  const toldMs = Math.max(retryAfterMs ?? RETRY_MS_DEFAULT, RETRY_MS_MIN)
  return refreshMs > 0 ? Math.min(toldMs, refreshMs) : toldMs
}

/** The page again: the activity's figures; the path is then asked for anew. */
async function reload(visit: Visit, sale: Sale): Promise<undefined> {
  await sale.client.call(visit.call({ method: 'GET', path: `/v1/activities/${sale.activityId}` }))
}

/** The hidden purchase path; '' when the sale is over for this product, undefined when it must be asked for again. */
async function fetchPath(visit: Visit, sale: Sale): Promise<string | undefined> {
  const { path, ...rest } = await askPath(visit, sale, true)
  if (path !== undefined || !('answer' in rest)) return path
  const { answer } = rest
  if (isOver(answer)) return ''
  const opensInMs = sale.opensAt - sale.now()
  const waitMs = answer.status === 425 && opensInMs > 0 ? opensInMs : (retryAfter(answer) ?? RETRY_MS_DEFAULT)
  await sale.sleep(Math.max(waitMs, RETRY_MS_MIN))
  return undefined
}
