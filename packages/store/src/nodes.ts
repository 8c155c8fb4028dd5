/** Who is there: every node says so twice a second. */

import type { Store } from './connection.ts'

/** What a node says of itself. `at` is its own clock, ms since the epoch. */
export interface NodeInfo {
  readonly id: string
  readonly role: string
  readonly address: string
  readonly revision: number
  readonly digest: string
  readonly at: number
}

const NODES = 'bt:{nodes}'

/** The list of nodes. */
export class Nodes {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Says that a node is there. */
  async heartbeat(info: NodeInfo): Promise<void> {
    await this.#store.redis.hset(NODES, info.id, JSON.stringify(info))
  }

  /** All that ever said so; the reader judges by `at` who is still there. */
  async list(): Promise<NodeInfo[]> {
    const rows = Object.values(await this.#store.redis.hgetall(NODES))
    return rows.flatMap((row) => {
      try {
        return [JSON.parse(row) as NodeInfo]
      } catch {
        return [] // a foreign value in the hash says nothing about our nodes
      }
    })
  }

  /** Forgets a node. */
  async remove(id: string): Promise<void> {
    await this.#store.redis.hdel(NODES, id)
  }
}

/** A heartbeat loop as a part of a service; faults are left to the next beat. */
export function heartbeatLoop(nodes: Nodes, read: () => NodeInfo, everyMs = 500): { start(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined
  const beat = () => nodes.heartbeat(read()).catch(() => undefined)
  return {
    start: () => {
      void beat()
      timer = setInterval(beat, everyMs)
    },
    stop: () => clearInterval(timer),
  }
}
