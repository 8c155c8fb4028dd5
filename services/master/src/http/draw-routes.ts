/** What was drawn, for everybody who wants to check it: `npm run verify-draw`. */

import { Readable } from 'node:stream'
import { callsAtOf, isSeedShown } from '@bigtap/domain'
import { DRAWN_PAGE, type Ledger } from '@bigtap/store'
import type { FastifyInstance } from 'fastify'
import { hasLiveLedger } from '../core/change-rules.ts'
import { onRedis } from '../faults.ts'
import { forbid, type SaleDesk } from '../sale-desk.ts'
import { Problem } from './edge.ts'
import { idOf } from './routes.ts'
import type { Sessions } from './session.ts'

/** Collaborators. */
export interface DrawRouteParts {
  readonly desk: SaleDesk
  readonly ledger: Pick<Ledger, 'lines'>
  readonly sessions: Sessions
}

/** Adds the export: NDJSON, a header with commit and seed, then a pseudonym and its place a line. 409 before the draw is over. */
export function addDrawRoutes(app: FastifyInstance, { desk, ledger, sessions }: DrawRouteParts): void {
  app.get('/admin/v1/activities/:a/skus/:s/draw', async (request, reply) => {
    sessions.reader(request)
    const { a, s } = request.params as { a: string; s: string }
    const sale = desk.sale(idOf(a))
    const { id: skuId } = desk.sku(sale, idOf(s))
    const { id: activityId, admission, state, waiting } = sale.activity
    if (admission !== 'draw') throw new Problem('not_found', { detail: 'nothing is drawn in this activity' })
    const hasOpened = hasLiveLedger(state) || state === 'closed' || state === 'archived'
    if (!isSeedShown(sale.activity, hasOpened, desk.parts.clock.now()))
      forbid(`the draw is over at ${callsAtOf(sale.activity)}`)
    const count = await onRedis(() => ledger.lines.drawnCount(activityId, skuId))
    const { drawCommit: commit, drawSeed: seed, drawSeconds } = waiting
    const header = { activityId, skuId, commit, seed, drawSeconds, count }
    const lines = exportOf(header, (from) => onRedis(() => ledger.lines.drawn(activityId, skuId, from)))
    return reply.type('application/x-ndjson').send(Readable.from(lines))
  })
}

async function* exportOf(
  header: { readonly count: number },
  read: (from: number) => ReturnType<Ledger['lines']['drawn']>,
): AsyncGenerator<string> {
  yield `${JSON.stringify(header)}\n`
  for (let from = 0; from < header.count; from += DRAWN_PAGE) {
    const places = await read(from)
    const lines = places.map(({ pseudonym }, index) => JSON.stringify({ place: from + index + 1, pseudonym }))
    yield lines.map((line) => `${line}\n`).join('')
  }
}
