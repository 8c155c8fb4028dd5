import type { Clock } from '@bigtap/kernel'
import type { Store } from './connection.ts'
import { type PushedStats, PushList } from './push-list.ts'

/** A service pushes its figures this often, ms. */
export const PUSH_EVERY_MS = 1_000

/** A service's own part of what it pushes; counters as they stand. */
export interface OwnFigures {
  readonly figures: PushedStats['figures']
  readonly labels?: PushedStats['labels']
  readonly skus?: PushedStats['skus']
}

/** Who pushes, and from what. */
export interface FigurePushParts {
  readonly nodeId: string
  readonly role: string
  readonly store: Store
  readonly clock: Clock
  /** Of the process: cpu, rss, eventLoopMs. */
  readProcess(): object
  /** What the node has applied of the catalog, where it follows it. */
  readonly catalog?: { readonly revision: number; readonly digest: string; readonly refused: readonly unknown[] }
  readOwn(): OwnFigures | Promise<OwnFigures>
}

/** The work of a worker that pushes a node's figures, once per call. A push that failed costs nothing: the next has it all. */
export function createFigurePush(parts: FigurePushParts): () => Promise<void> {
  const { nodeId, role, store, clock, readProcess, catalog, readOwn } = parts
  const list = new PushList(store)
  return async () => {
    const { figures, labels, skus = [] } = await readOwn()
    await list.push({
      ...{ nodeId, role, at: clock.now(), skus },
      figures: {
        ...readProcess(),
        ...(catalog && { revision: catalog.revision, refused: catalog.refused.length }),
        ...figures,
      },
      labels: { ...(catalog && { digest: catalog.digest }), ...labels },
    })
  }
}
