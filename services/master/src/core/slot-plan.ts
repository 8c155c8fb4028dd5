/** Which node owns which of the 1,024 slots: spread evenly, and a new list of nodes moves the fewest. */

import { parseSlotTableDoc, type SlotTableDoc } from '@bigtap/domain'
import { CodedError, SLOT_COUNT } from '@bigtap/kernel'

/** A Middle node as it is configured. */
export interface SlotNode {
  readonly id: string
  readonly address: string
}

/** Reads `id=host:port` items; throws a CodedError BAD_NODES that names the bad one. */
export function parseNodes(items: readonly string[]): SlotNode[] {
  const nodes = items.map((item) => {
    const [id = '', address = '', ...rest] = item.trim().split('=')
    if (id === '' || rest.length > 0 || !/^[^:\s]+:\d{1,5}$/.test(address))
      throw bad(`node "${item}" is not id=host:port`)
    return { id, address }
  })
  if (nodes.length === 0) throw bad('there is no middle node')
  if (new Set(nodes.map(({ id }) => id)).size !== nodes.length) throw bad('a middle node is named twice')
  return nodes
}

/** The table for these nodes: the last one where the list is the same, else the next epoch. */
export function planSlots(last: unknown, nodes: readonly SlotNode[]): SlotTableDoc {
  const parsed = parseSlotTableDoc(last)
  const before = parsed.ok ? parsed.value : undefined
  if (before !== undefined && JSON.stringify(before.nodes) === JSON.stringify(nodes)) return before
  return { epoch: (before?.epoch ?? 0) + 1, nodes, owners: spread(before, nodes) }
}

function spread(before: SlotTableDoc | undefined, nodes: readonly SlotNode[]): number[] {
  const room = nodes.map(
    (_, index) => Math.floor(SLOT_COUNT / nodes.length) + (index < SLOT_COUNT % nodes.length ? 1 : 0),
  )
  const take = (owner: number) => {
    room[owner] = (room[owner] ?? 0) - 1
    return owner
  }
  const kept = Array.from({ length: SLOT_COUNT }, (_, slot) => {
    const id = before?.nodes[before.owners[slot] ?? -1]?.id
    const owner = nodes.findIndex((node) => node.id === id)
    return owner >= 0 && (room[owner] ?? 0) > 0 ? take(owner) : -1
  })
  return kept.map((owner) => (owner >= 0 ? owner : take(room.findIndex((left) => left > 0))))
}

function bad(message: string): CodedError {
  return new CodedError({ code: 'BAD_NODES', message: `BIGTAP_MIDDLE_NODES: ${message}` })
}
