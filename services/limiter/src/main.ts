/** The limiter's composition root. */

import { createFront } from '@bigtap/catalog'
import { runService, watchProcess } from '@bigtap/runtime'
import { connectStore, Once, Reservations } from '@bigtap/store'
import { createKeyRing } from '@bigtap/token'
import { createAbuse } from './abuse-parts.ts'
import { settings as spec } from './config.ts'
import type { EdgeKind } from './edge/edge.ts'
import { createIdTokenVerifier } from './id-token.ts'
import { createLimiter } from './limiter.ts'
import { PROFILE_LIMITS, Profile } from './profile.ts'
import { createStatsServer } from './stats.ts'
import { trustedProxies } from './trusted-proxies.ts'

const STORE_MS_MAX = 100
const STORE_WAIT_MS = 10_000

await runService('limiter', spec, async (context) => {
  const { settings, logger, metrics, clock, random, page } = context
  const { jwksUrl, jwtIssuer, jwtAudience } = settings
  const store = connectStore({ url: settings.redisUrl, commandMsMax: STORE_MS_MAX }, { logger })
  const abuse = createAbuse(settings, { ...context, store })
  const front = createFront({ ...context, service: 'limiter', role: 'limiter', store, onAbuseVerdicts: abuse.onFrame })
  const { mirror } = front
  const profile = new Profile({ file: settings.profileFile }, { logger, metrics })
  const limiter = createLimiter(
    {
      ...settings,
      edge: settings.edge as EdgeKind | 'auto',
      isSecure: settings.publicOrigin.startsWith('https:'),
      isTrusted: trustedProxies(settings.trustedProxies),
    },
    {
      mirror,
      log: abuse.log,
      verdicts: abuse.verdicts,
      profile,
      reservations: new Reservations(store),
      once: new Once(store),
      ring: createKeyRing({ current: settings.tokenSecret, previous: settings.tokenSecretPrevious }),
      verifyIdToken:
        jwksUrl === '' ? undefined : createIdTokenVerifier({ jwksUrl, issuer: jwtIssuer, audience: jwtAudience }),
      logger,
      metrics,
      clock,
      random,
    },
  )
  const stats = createStatsServer(settings, { ...context, figures: limiter.figures, readProcess: watchProcess() })
  page('/debug/catalog', () => ({ revision: mirror.revision, digest: mirror.digest, refused: mirror.refused }))
  page('/debug/verdicts', abuse.view)
  page('/debug/shedding', () => limiter.shedding())
  page('/debug/cpu', () => ({ ...process.cpuUsage(), edge: limiter.edge.kind }))
  return [
    {
      name: 'store',
      // A limiter that starts while Redis is away still answers what needs no store.
      start: () => store.waitUntilReady(STORE_WAIT_MS).catch(() => logger.warn({}, 'redis is not there yet')),
      stop: () => store.close(),
    },
    ...abuse.parts,
    ...front.parts,
    { name: 'profile', start: async () => profile.start(), stop: async () => profile.stop(), limits: PROFILE_LIMITS },
    {
      name: 'limiter',
      start: async () => logger.info({ port: await limiter.start(), edge: limiter.edge.kind }, 'limiter listens'),
      stop: () => limiter.stop(),
      limits: limiter.limits,
    },
    { name: 'stats', start: async () => void (await stats.start()), stop: () => stats.stop(), limits: stats.limits },
    front.heartbeat,
  ]
})
