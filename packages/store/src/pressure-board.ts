/** Where cart, counter and order say that work waits too long at them. An idle platform writes nothing here. */

import { readAged } from './aged-rows.ts'
import type { Store } from './connection.ts'
import { loadScript, runScript } from './script.ts'

/** How long work waits at a node now, and how long it may, ms. */
export interface PressureReport {
  readonly node: string
  readonly role: string
  readonly waitMs: number
  readonly targetMs: number
}

/** A report and how long ago Redis took it. */
export type HeardPressure = PressureReport & { readonly ageMs: number }

/** A report that nobody can mean any more leaves the board. */
export const PRESSURE_KEPT_MS = 10_000
/** Nodes on the board. */
export const PRESSURE_NODES_MAX = 1_024

const BOARD = 'bt:{pressure}'
const REPORT = loadScript('report-pressure-1')

/** The board. Ages are told by Redis' clock, so that no node's clock matters. */
export class PressureBoard {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Replaces what the node said before; false when the board is full. */
  async report(report: PressureReport): Promise<boolean> {
    const args = [report.node, JSON.stringify(report), PRESSURE_NODES_MAX]
    return Number(await runScript(this.#store, REPORT, [BOARD], args)) === 1
  }

  /** What was said lately; the reader judges by `ageMs` what still counts. */
  read(): Promise<HeardPressure[]> {
    return readAged(this.#store, BOARD, { oldestMs: PRESSURE_KEPT_MS, parse: parseReport })
  }
}

/** A foreign value says nothing about our nodes. */
function parseReport(text: string): PressureReport | undefined {
  try {
    const { node, role, waitMs, targetMs } = (JSON.parse(text) ?? {}) as Partial<Record<keyof PressureReport, unknown>>
    const isGood = typeof node === 'string' && typeof role === 'string' && isMs(waitMs) && isMs(targetMs)
    return isGood ? { node, role, waitMs, targetMs } : undefined
  } catch {
    return undefined
  }
}

function isMs(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}
