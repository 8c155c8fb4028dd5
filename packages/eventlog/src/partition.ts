import { hashText } from '@bigtap/kernel'
import type { LogRecord } from './port.ts'

/** Where a key belongs: the same in every adapter and every process. */
export function partitionOf(key: string, partitions: number): number {
  return hashText(key) % partitions
}

/** Records by partition, in their order. */
export function byPartition(records: readonly LogRecord[], partitions: number): Map<number, LogRecord[]> {
  const groups = new Map<number, LogRecord[]>()
  for (const record of records) {
    const partition = partitionOf(record.key, partitions)
    const group = groups.get(partition)
    if (group) group.push(record)
    else groups.set(partition, [record])
  }
  return groups
}
