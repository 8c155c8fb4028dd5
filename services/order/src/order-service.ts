/** The service's own parts put together over the ports that they are given; `main.ts` and the tests give them. */

import type { Mirror } from '@bigtap/catalog'
import type { Db } from '@bigtap/db'
import { createEdge, EDGE_LIMITS } from '@bigtap/http'
import { type Clock, jitterMs, type Logger, type Random } from '@bigtap/kernel'
import type { Ledger, Store } from '@bigtap/store'
import { createKeyRing } from '@bigtap/token'
import type { LedgerClient } from '@bigtap/transport'
import type { Sign } from './core/signature.ts'
import { LedgerView } from './ledger-view.ts'
import type { declareMetrics } from './metrics.ts'
import { OrderDesk } from './order-desk.ts'
import { PaymentDesk } from './payment-desk.ts'
import { Reconciler } from './reconciler.ts'
import { addOrderRoutes, addPaymentRoutes } from './routes.ts'
import { Sandbox } from './sandbox.ts'
import { addSandboxRoutes } from './sandbox-routes.ts'

/** What is set from outside. */
export interface OrderSettings {
  readonly tokenSecret: string
  readonly tokenSecretPrevious: string | undefined
  readonly publicOrigin: string
  readonly connectionsMax: number
}

/** What the service works with. */
export interface OrderParts {
  readonly db: Db
  readonly store: Pick<Store, 'runId'>
  readonly mirror: Pick<Mirror, 'activities' | 'sku' | 'isLoaded'>
  readonly ledger: Ledger
  readonly counter: Pick<LedgerClient, 'confirm' | 'cancel'>
  readonly counts: ReturnType<typeof declareMetrics>
  readonly sign: Sign
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/** About two looks of a buyer who waits for a payment, ms. */
const LOOK_AGAIN_MS = 400

/** Makes the edge with all routes, the sandbox and the reconciler. */
export function createOrderService(settings: OrderSettings, parts: OrderParts) {
  const { db, counter, counts, sign, clock, random, logger } = parts
  const { publicOrigin } = settings
  const now = () => clock.now()
  const limits = { ...EDGE_LIMITS, connectionsMax: settings.connectionsMax }
  const ring = createKeyRing({ current: settings.tokenSecret, previous: settings.tokenSecretPrevious })
  const ledgers = new LedgerView(parts)
  const desk = new OrderDesk({ db, ledgers })
  const { onAlert, onResult, sandboxDropped } = counts
  const paymentDesk = new PaymentDesk({ db, counter, ledgers, desk, logger, now, onAlert, onResult })
  const callbackUrl = `${publicOrigin}/v1/payments/callback`
  const sandbox = new Sandbox({ callbackUrl, sign, now, random, logger, onDropped: sandboxDropped })
  const lookAgainMs = () => jitterMs(LOOK_AGAIN_MS, random.next())
  const app = createEdge(limits, parts)
  const routes = { ring, desk, paymentDesk, db, counter, sign, publicOrigin, now, lookAgainMs }
  addOrderRoutes(app, routes)
  addPaymentRoutes(app, routes)
  addSandboxRoutes(app, { db, sandbox, lookAgainMs })
  return { app, sandbox, limits, reconciler: new Reconciler({ db, ledgers, logger, now }) }
}
