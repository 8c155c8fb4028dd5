/** dcacenter's figures, read over the Redis protocol. */

import type { Logger } from '@bigtap/kernel'
import { Redis } from 'ioredis'

/** Numbers by name; `ageMs` is how old they are. */
export type FigureRow = Readonly<Record<string, number>>

/** Figures of one SKU over all nodes. */
export interface SkuFigures {
  readonly activityId: number
  readonly skuId: number
  readonly state: string
  readonly figures: FigureRow
}

/** Figures of one node. `labels` are its texts: digest, address … */
export interface NodeFigures {
  readonly id: string
  readonly role: string
  readonly labels: Readonly<Record<string, string>>
  readonly figures: FigureRow
}

/** What dcacenter tells once a second. `at`: its clock, ms since the epoch. */
export interface Tick {
  readonly at: number
  readonly totals: FigureRow
  readonly skus: readonly SkuFigures[]
  readonly nodes: readonly NodeFigures[]
}

/** A reader of figures. Reads reject when dcacenter does not answer in time; ticks come again by themselves after a loss. */
export interface FigureReader {
  ready(): boolean
  totals(): Promise<FigureRow>
  skus(): Promise<SkuFigures[]>
  nodes(): Promise<NodeFigures[]>
  /** Calls the listener with every tick from now on; one that is no tick is skipped. */
  onTick(listener: (tick: Tick) => void): void
  close(): void
}

/** How to read. `commandMsMax` bounds every read. */
export interface FigureReaderSettings {
  readonly url: string
  readonly commandMsMax?: number
}

const COMMAND_MS_MAX = 500
const CONNECT_MS_MAX = 1_000
const RECONNECT_MS_MAX = 1_000
const TICK = 'tick'

/** Starts to connect; nothing is asked before it is. */
export function connectFigures(
  { url, commandMsMax = COMMAND_MS_MAX }: FigureReaderSettings,
  { logger }: { logger: Logger },
): FigureReader {
  const options = {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandMsMax,
    connectTimeout: CONNECT_MS_MAX,
    retryStrategy: (attempt: number) => Math.min(50 * attempt, RECONNECT_MS_MAX),
  }
  const reads = new Redis(url, options)
  const ticks = new Redis(url, { ...options, autoResubscribe: false })
  const listeners: ((tick: Tick) => void)[] = []
  for (const one of [reads, ticks])
    one.on('error', (error: Error) => logger.debug({ error: error.message }, 'dcacenter connection failed'))
  ticks.on('ready', () => {
    // A subscription that was not answered in time is tried again from the start.
    ticks.subscribe(TICK).catch(() => ticks.disconnect(true))
  })
  ticks.on('message', (_channel: string, text: string) => {
    const tick = parseTick(text)
    if (tick === undefined) logger.debug({ chars: text.length }, 'a tick could not be read')
    else for (const listener of listeners) listener(tick)
  })
  return {
    ready: () => reads.status === 'ready' && ticks.status === 'ready',
    totals: async () => numbersOf(await reads.hgetall('totals')),
    skus: async () => Object.values(await reads.hgetall('skus')).flatMap(parseRow<SkuFigures>),
    nodes: async () => Object.values(await reads.hgetall('nodes')).flatMap(parseRow<NodeFigures>),
    onTick: (listener) => void listeners.push(listener),
    close: () => {
      reads.disconnect()
      ticks.disconnect()
    },
  }
}

/** A tick from its text; undefined when it is none. */
export function parseTick(text: string): Tick | undefined {
  const [tick] = parseRow<Tick>(text)
  if (tick === undefined || typeof tick.at !== 'number') return undefined
  return Array.isArray(tick.skus) && Array.isArray(tick.nodes) && typeof tick.totals === 'object' ? tick : undefined
}

function numbersOf(hash: Readonly<Record<string, string>>): FigureRow {
  const rows = Object.entries(hash).map(([name, text]) => [name, Number(text)] as const)
  return Object.fromEntries(rows.filter(([, value]) => Number.isFinite(value)))
}

/** dcacenter is our own: its rows are taken as they are once they are objects. */
function parseRow<Row>(text: string): Row[] {
  try {
    const row: unknown = JSON.parse(text)
    return typeof row === 'object' && row !== null ? [row as Row] : []
  } catch {
    return []
  }
}
