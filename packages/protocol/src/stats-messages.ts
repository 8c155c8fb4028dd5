import { create } from '@bufbuild/protobuf'
import { boundedText, decodeMessage, encodeMessage, toNumber, toU64 } from './checked.ts'
import { BODY_BYTES_MAX } from './frame.ts'
import {
  type Figures as FiguresMessage,
  FiguresSchema,
  LabelSchema,
  SkuStatsSchema,
  StatsSchema,
} from './gen/stats_pb.ts'
import { NAME_CHARS_MAX } from './link-messages.ts'
import { malformed } from './protocol-error.ts'

/** Most SKUs in one Stats. */
export const STATS_SKUS_MAX = 4_096
/** Most figures of a node, of one SKU, and most labels. */
export const STATS_FIGURES_MAX = 64
/** Different names of figures in one Stats. */
const NAMES_MAX = 128
const LABEL_CHARS_MAX = 256
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

/** Writes the body of a Stats frame; throws a ProtocolError for what decodeStats would refuse. */
export function encodeStats(stats: Stats): Uint8Array {
  const names = new Map<string, number>()
  const message = create(StatsSchema, {
    nodeId: boundedText(stats.nodeId, 'nodeId', NAME_CHARS_MAX),
    role: boundedText(stats.role, 'role', NAME_CHARS_MAX),
    at: toU64(stats.at, 'at'),
    figures: figuresToMessage(stats.figures, names),
    labels: labelsToMessage(stats.labels),
    skus: stats.skus.map(({ activityId, skuId, state, figures }) =>
      create(SkuStatsSchema, {
        activityId: toU64(activityId, 'activityId'),
        skuId: toU64(skuId, 'skuId'),
        state: boundedText(state, 'state', NAME_CHARS_MAX),
        figures: figuresToMessage(figures, names),
      }),
    ),
  })
  countWithin(message.skus.length, 'skus', STATS_SKUS_MAX)
  countWithin(names.size, 'names', NAMES_MAX)
  message.names = [...names.keys()]
  const bytes = encodeMessage(StatsSchema, message)
  if (bytes.length > BODY_BYTES_MAX)
    throw malformed('LENGTH_EXCEEDED', `stats of ${bytes.length} bytes exceed ${BODY_BYTES_MAX}`, {
      bytes: bytes.length,
    })
  return bytes
}

/**
 * Throws a ProtocolError for more than 4,096 SKUs, more than 64 figures or labels in one place, a name that is not made of
 * letters, digits, `_`, `.` and `-`, and a number that is not finite.
 */
export function decodeStats(body: Uint8Array): Stats {
  const { nodeId, role, at, names, figures, labels, skus } = decodeMessage(StatsSchema, body)
  countWithin(names.length, 'names', NAMES_MAX)
  countWithin(labels.length, 'labels', STATS_FIGURES_MAX)
  countWithin(skus.length, 'skus', STATS_SKUS_MAX)
  for (const name of names) checkName(name)
  return {
    nodeId: boundedText(nodeId, 'nodeId', NAME_CHARS_MAX),
    role: boundedText(role, 'role', NAME_CHARS_MAX),
    at: toNumber(at, 'at'),
    figures: figuresFromMessage(figures, names),
    labels: Object.fromEntries(
      labels.map(({ name, value }) => [checkName(name), boundedText(value, 'label', LABEL_CHARS_MAX)]),
    ),
    skus: skus.map((sku) => ({
      activityId: toNumber(sku.activityId, 'activityId'),
      skuId: toNumber(sku.skuId, 'skuId'),
      state: boundedText(sku.state, 'state', NAME_CHARS_MAX),
      figures: figuresFromMessage(sku.figures, names),
    })),
  }
}

/** Names are written once for all SKUs: a SKU then costs nine bytes per figure. */
function figuresToMessage(figures: Readonly<Record<string, number>>, names: Map<string, number>): FiguresMessage {
  const entries = Object.entries(figures)
  countWithin(entries.length, 'figures', STATS_FIGURES_MAX)
  const message = create(FiguresSchema)
  for (const [name, value] of entries) {
    const place = names.get(name) ?? names.size
    names.set(checkName(name), place)
    message.names.push(place)
    message.values.push(finite(value, name))
  }
  return message
}

function figuresFromMessage(message: FiguresMessage | undefined, names: readonly string[]): Record<string, number> {
  const figures: Record<string, number> = {}
  if (message === undefined) return figures
  countWithin(message.names.length, 'figures', STATS_FIGURES_MAX)
  if (message.names.length !== message.values.length)
    throw malformed(
      'COLUMN_MISMATCH',
      `figures have ${message.names.length} names and ${message.values.length} values`,
      {},
    )
  for (const [index, place] of message.names.entries()) {
    const name = names[place]
    if (name === undefined) throw malformed('BAD_VALUE', `figure names place ${place} of ${names.length}`, { place })
    figures[name] = finite(message.values[index], name)
  }
  return figures
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

function countWithin(count: number, what: string, max: number): void {
  if (count > max) throw malformed('ROWS_EXCEEDED', `stats with ${count} ${what} exceed ${max}`, { count, max })
}
