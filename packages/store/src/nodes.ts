/** Who is there: every node says so each 300 ms, and its age is told by Redis' clock. */

import { readAged } from './aged-rows.ts'
import type { Store } from './connection.ts'
import { loadScript, runScript } from './script.ts'

/** `joining` is not ready for work yet, `leaving` wants to be rid of it. */
export type NodeState = 'ready' | 'joining' | 'leaving'

/** What a node says of itself. `at` is its own clock, ms since the epoch; `statsAddress` is empty where it has no figures. */
export interface NodeInfo {
  readonly id: string
  readonly role: string
  readonly state: NodeState
  readonly address: string
  readonly statsAddress: string
  readonly revision: number
  readonly digest: string
  readonly at: number
}

/** A node and how long ago Redis heard it. */
export type HeardNode = NodeInfo & { readonly ageMs: number }

/** A node says that it is there this often. */
export const HEARTBEAT_MS = 300
/** Who was silent for longer is forgotten. */
export const FORGOTTEN_MS = 3_600_000

const NODES = 'bt:{nodes}'
const HEARTBEAT = loadScript('heartbeat-1')

/** The list of nodes. */
export class Nodes {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Says that a node is there. */
  async heartbeat(info: NodeInfo): Promise<void> {
    await runScript(this.#store, HEARTBEAT, [NODES], [info.id, JSON.stringify(info)])
  }

  /** All that said so within the last hour; the reader judges by `ageMs` who is still there. */
  list(): Promise<HeardNode[]> {
    return readAged(this.#store, NODES, { oldestMs: FORGOTTEN_MS, parse: parseInfo })
  }

  /** Forgets a node. */
  async remove(id: string): Promise<void> {
    await this.#store.redis.hdel(NODES, id)
  }
}

/**
 * A heartbeat loop as a part of a service; faults are left to the next beat. `beat` says at once what has changed; a planned
 * stop takes the node off the list, where its silence would say the same later.
 */
export function heartbeatLoop(
  nodes: Nodes,
  read: () => NodeInfo,
  everyMs = HEARTBEAT_MS,
): { start(): void; stop(): Promise<void>; beat(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined
  const beat = () => nodes.heartbeat(read()).catch(() => undefined)
  return {
    start: () => {
      void beat()
      timer = setInterval(beat, everyMs)
    },
    stop: async () => {
      clearInterval(timer)
      await nodes.remove(read().id).catch(() => undefined)
    },
    beat,
  }
}

/** A foreign value in the hash says nothing about our nodes; fields of a later version are kept. */
function parseInfo(text: string): NodeInfo | undefined {
  try {
    const info = JSON.parse(text) as Partial<NodeInfo> | null
    if (typeof info?.id !== 'string' || typeof info.role !== 'string') return undefined
    return { state: 'ready', address: '', statsAddress: '', revision: 0, digest: '', at: 0, ...info } as NodeInfo
  } catch {
    return undefined
  }
}
