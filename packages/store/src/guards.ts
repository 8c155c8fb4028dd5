import { CodedError } from '@bigtap/kernel'
import type { Store } from './connection.ts'

/** Guard of a ledger that is being rebuilt. */
export const REBUILDING = 'rebuilding'

/** Key of an activity's meta hash; all its other keys share the hash tag. */
export const metaKey = (activityId: number) => `bt:{${activityId}}:meta`
/** Root of an activity's keys. */
export const rootKey = (activityId: number) => `bt:{${activityId}}:`

/**
 * The guards of the ledgers, `epoch:run id`. A guard is used only on the run of the server that it names: after a
 * restart every ledger is in doubt until it has been verified and its guard names the new run.
 */
export class Guards {
  readonly #store: Store
  readonly #known = new Map<number, string>()

  constructor(store: Store) {
    this.#store = store
  }

  /** The guard to call with. Throws LEDGER_IN_DOUBT (being rebuilt, or not verified on this run) or LEDGER_UNKNOWN. */
  async get(activityId: number): Promise<string> {
    const { runId } = this.#store
    if (runId === undefined) throw new CodedError({ code: 'STORE_UNAVAILABLE', message: 'redis is not connected' })
    const known = this.#known.get(activityId)
    if (known?.endsWith(runId)) return known
    const read = await this.read(activityId)
    if (read === undefined)
      throw new CodedError({
        code: 'LEDGER_UNKNOWN',
        message: `activity ${activityId} has no ledger`,
        data: { activityId },
      })
    if (!read.endsWith(`:${runId}`))
      throw new CodedError({
        code: 'LEDGER_IN_DOUBT',
        message: `ledger of activity ${activityId} is not verified`,
        data: { activityId },
      })
    this.#known.set(activityId, read)
    return read
  }

  /** What stands in Redis, unchecked. */
  async read(activityId: number): Promise<string | undefined> {
    return (await this.#store.redis.hget(metaKey(activityId), 'guard')) ?? undefined
  }

  /** Forgets what is known of a ledger, after a call was refused as stale. */
  forget(activityId: number): void {
    this.#known.delete(activityId)
  }
}
