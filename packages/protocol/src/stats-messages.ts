import { create } from '@bufbuild/protobuf'
import { boundedText, decodeMessage, encodeMessage, toNumber, toU64 } from './checked.ts'
import { BODY_BYTES_MAX } from './frame.ts'
import {
  LabelSchema,
  type SkuColumn,
  SkuColumnSchema,
  type Stats as StatsMessage,
  StatsSchema,
} from './gen/stats_pb.ts'
import { NAME_CHARS_MAX } from './link-messages.ts'
import { malformed } from './protocol-error.ts'

/** Most SKUs in one Stats. */
export const STATS_SKUS_MAX = 4_096
/** Most figures of a node and of its SKUs, and most labels. */
export const STATS_FIGURES_MAX = 64
const LABEL_CHARS_MAX = 256
const F64_BYTES = 8
/** No name can be one that means something to an object. */
const NAME = /^[a-zA-Z][a-zA-Z0-9_.-]{0,63}$/

/** What a node counts and measures. Counters are given as they stand: who reads them makes rates. `at`: its own clock, ms. */
export interface Stats {
  nodeId: string
  role: string
  at: number
  figures: Record<string, number>
  labels: Record<string, string>
  skus: SkuStats[]
}

/** The part of one SKU; `state` is '' where the node knows none. */
export interface SkuStats {
  activityId: number
  skuId: number
  state: string
  figures: Record<string, number>
}

/**
 * Writes the body of a Stats frame; throws a ProtocolError for what decodeStats would refuse. SKUs go as columns: 400 of
 * them with a dozen figures are 50 kB and take a fifteenth of the time that a message for each would.
 */
export function encodeStats(stats: Stats): Uint8Array {
  const { skus } = stats
  const names = Object.keys(stats.figures)
  countWithin(skus.length, 'skus', STATS_SKUS_MAX)
  countWithin(names.length, 'figures', STATS_FIGURES_MAX)
  const message = create(StatsSchema, {
    nodeId: boundedText(stats.nodeId, 'nodeId', NAME_CHARS_MAX),
    role: boundedText(stats.role, 'role', NAME_CHARS_MAX),
    at: toU64(stats.at, 'at'),
    labels: labelsToMessage(stats.labels),
    names: names.map(checkName),
    values: Object.entries(stats.figures).map(([name, value]) => finite(value, name)),
    activityId: skus.map(({ activityId }) => toU64(activityId, 'activityId')),
    skuId: skus.map(({ skuId }) => toU64(skuId, 'skuId')),
    columns: columnsToMessage(skus),
  })
  writeStates(message, skus)
  const bytes = encodeMessage(StatsSchema, message)
  if (bytes.length > BODY_BYTES_MAX) throw tooLong(bytes.length)
  return bytes
}

/**
 * Throws a ProtocolError for more than 4,096 SKUs, more than 64 figures or labels, a name that is not made of letters, digits,
 * `_`, `.` and `-`, columns that differ in length, and a number that is not finite.
 */
export function decodeStats(body: Uint8Array): Stats {
  const message = decodeMessage(StatsSchema, body)
  const { nodeId, role, names, values, labels } = message
  countWithin(names.length, 'figures', STATS_FIGURES_MAX)
  countWithin(labels.length, 'labels', STATS_FIGURES_MAX)
  sameLength(names.length, values.length, 'values')
  return {
    nodeId: boundedText(nodeId, 'nodeId', NAME_CHARS_MAX),
    role: boundedText(role, 'role', NAME_CHARS_MAX),
    at: toNumber(message.at, 'at'),
    figures: Object.fromEntries(names.map((name, index) => [checkName(name), finite(values[index], name)])),
    labels: Object.fromEntries(
      labels.map(({ name, value }) => [checkName(name), boundedText(value, 'label', LABEL_CHARS_MAX)]),
    ),
    skus: skusFromMessage(message),
  }
}

function columnsToMessage(skus: readonly SkuStats[]): SkuColumn[] {
  const columns = new Map<string, DataView<ArrayBuffer>>()
  for (const [row, { figures }] of skus.entries()) {
    for (const name in figures) {
      let column = columns.get(name)
      if (column === undefined) {
        column = emptyColumn(skus.length)
        columns.set(checkName(name), column)
      }
      column.setFloat64(row * F64_BYTES, finite(figures[name], name), true)
    }
  }
  countWithin(columns.size, 'figures', STATS_FIGURES_MAX)
  return [...columns].map(([name, { buffer }]) => create(SkuColumnSchema, { name, values: new Uint8Array(buffer) }))
}

function emptyColumn(rows: number): DataView<ArrayBuffer> {
  const column = new DataView(new ArrayBuffer(rows * F64_BYTES))
  for (let row = 0; row < rows; row++) column.setFloat64(row * F64_BYTES, Number.NaN, true)
  return column
}

function writeStates(message: StatsMessage, skus: readonly SkuStats[]): void {
  const places = new Map<string, number>()
  message.state = skus.map(({ state }) => {
    const place = places.get(state) ?? places.size
    places.set(boundedText(state, 'state', NAME_CHARS_MAX), place)
    return place
  })
  countWithin(places.size, 'states', STATS_FIGURES_MAX)
  message.states = [...places.keys()]
}

function skusFromMessage({ activityId, skuId, state, states, columns }: StatsMessage): SkuStats[] {
  countWithin(activityId.length, 'skus', STATS_SKUS_MAX)
  countWithin(columns.length, 'figures', STATS_FIGURES_MAX)
  countWithin(states.length, 'states', STATS_FIGURES_MAX)
  sameLength(activityId.length, skuId.length, 'skuId')
  sameLength(activityId.length, state.length, 'state')
  for (const text of states) boundedText(text, 'state', NAME_CHARS_MAX)
  const skus = activityId.map((id, row) => ({
    activityId: toNumber(id, 'activityId'),
    skuId: toNumber(skuId[row] ?? 0n, 'skuId'),
    state: states[state[row] ?? 0] ?? '',
    figures: {} as Record<string, number>,
  }))
  for (const { name, values } of columns) {
    checkName(name)
    sameLength(skus.length, values.length / F64_BYTES, name)
    const column = new DataView(values.buffer, values.byteOffset, values.length)
    for (const [row, { figures }] of skus.entries()) {
      const value = column.getFloat64(row * F64_BYTES, true)
      if (!Number.isNaN(value)) figures[name] = finite(value, name)
    }
  }
  return skus
}

function labelsToMessage(labels: Readonly<Record<string, string>>) {
  const entries = Object.entries(labels)
  countWithin(entries.length, 'labels', STATS_FIGURES_MAX)
  return entries.map(([name, value]) =>
    create(LabelSchema, { name: checkName(name), value: boundedText(value, 'label', LABEL_CHARS_MAX) }),
  )
}

function checkName(name: string): string {
  if (NAME.test(name)) return name
  throw malformed('BAD_TEXT', `"${name.slice(0, NAME_CHARS_MAX)}" is no name of a figure`, { chars: name.length })
}

function finite(value: number | undefined, name: string): number {
  if (value !== undefined && Number.isFinite(value)) return value
  throw malformed('BAD_VALUE', `figure ${name} is ${value}`, { name })
}

function sameLength(rows: number, values: number, what: string): void {
  if (rows !== values)
    throw malformed('COLUMN_MISMATCH', `column ${what} has ${values} rows of ${rows}`, { rows, values })
}

function countWithin(count: number, what: string, max: number): void {
  if (count > max) throw malformed('ROWS_EXCEEDED', `stats with ${count} ${what} exceed ${max}`, { count, max })
}

function tooLong(bytes: number): Error {
  return malformed('LENGTH_EXCEEDED', `stats of ${bytes} bytes exceed ${BODY_BYTES_MAX}`, { bytes })
}
