/** Request logs with labels: batches in the order of their time, and who is who. */

import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { AccessColumns, decodeAccessBatch } from '@bigtap/protocol'

/** Who somebody is, as the crowd knows it. */
export interface Label {
  readonly uid: number
  readonly profile: string
  readonly isAbusive: boolean
}

/** A log that can be read more than once. The columns that it hands out are used again for the next batch. */
export interface LabelledLog {
  readonly labels: ReadonlyMap<number, Label>
  batches(): Iterable<AccessColumns>
}

/** Rows of one record at most; A record has those of 100 ms and one sixteenth of the buyers. */
const ROWS_MAX = 65_536
const RECORD_BYTES_MAX = 16 * 1024 * 1024
const LENGTH_BYTES = 4

/** A recorded log (`u32 length LE | AccessBatch` again and again) and its labels (JSON lines). A torn last record is left out. */
export function openLog(logFile: string, labelsFile: string): LabelledLog {
  return { labels: readLabels(readFileSync(labelsFile, 'utf8')), batches: () => readRecords(logFile) }
}

/** Reads labels, one JSON object a line; throws an Error that names the line. */
export function readLabels(text: string): Map<number, Label> {
  const lines = text.split('\n')
  const labels = lines.flatMap((line, index): [number, Label][] => {
    if (line.trim() === '') return []
    const { uid, profile, isAbusive } = parseLine(line, index + 1)
    if (typeof uid !== 'number' || typeof profile !== 'string' || typeof isAbusive !== 'boolean') {
      throw new Error(`labels, line ${index + 1}: wanted uid, profile and isAbusive`)
    }
    return [[uid, { uid, profile, isAbusive }]]
  })
  return new Map(labels)
}

function parseLine(line: string, number: number): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch (cause) {
    throw new Error(`labels, line ${number} is no JSON`, { cause })
  }
}

function* readRecords(file: string): Generator<AccessColumns> {
  const batch = new AccessColumns(ROWS_MAX)
  const head = Buffer.alloc(LENGTH_BYTES)
  const handle = openSync(file, 'r')
  try {
    while (readSync(handle, head, 0, LENGTH_BYTES, null) === LENGTH_BYTES) {
      const length = head.readUInt32LE(0)
      if (length > RECORD_BYTES_MAX) throw new Error(`record of ${length} bytes exceeds ${RECORD_BYTES_MAX} in ${file}`)
      const bytes = Buffer.alloc(length)
      if (readSync(handle, bytes, 0, length, null) < length) return
      decodeAccessBatch(bytes, batch)
      yield batch
    }
  } finally {
    closeSync(handle)
  }
}
