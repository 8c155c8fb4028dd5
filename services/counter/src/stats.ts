/** What a counter tells dcacenter: its queue, and the ledgers as they are. */

import type { Logger } from '@bigtap/kernel'
import type { Ledger, OwnFigures } from '@bigtap/store'
import type { CallGatherer } from './call-gatherer.ts'
import { LIVE_STATES } from './keeper.ts'

/** Where a counter's figures stand. */
export interface CounterFigures {
  readonly gatherer: Pick<CallGatherer, 'waiting' | 'refused'>
  readonly ledger: Pick<Ledger, 'figures'>
  readonly logger: Logger
  activities(): Iterable<{ id: number; state: string }>
}

/** All figures of a counter. Ledgers that cannot be read now are left out: their age grows. */
export async function counterFigures({ gatherer, ledger, activities, logger }: CounterFigures): Promise<OwnFigures> {
  const live = [...activities()].filter(({ state }) => LIVE_STATES.includes(state))
  const skus = await Promise.all(live.map(({ id }) => ledgerOf(id, ledger, logger)))
  return { figures: { queueDepth: gatherer.waiting, callsRefused: gatherer.refused }, skus: skus.flat() }
}

async function ledgerOf(activityId: number, ledger: Pick<Ledger, 'figures'>, logger: Logger) {
  try {
    const rows = await ledger.figures(activityId)
    return [...rows].map(([skuId, figures]) => ({ activityId, skuId, state: '', figures: { ...figures } }))
  } catch (error) {
    logger.debug({ activityId, error }, 'the figures of a ledger could not be read')
    return []
  }
}
