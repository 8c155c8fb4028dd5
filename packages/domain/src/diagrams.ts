/** Draws the state machines from their tables, for docs/machines.md. */

import { ACTIVITY_TABLE } from './activity-machine.ts'
import { ORDER_TABLE } from './order-machine.ts'
import { SKU_TABLE } from './sku-machine.ts'

type Table = Readonly<Record<string, Readonly<Record<string, string | undefined>>>>

/** The text of docs/machines.md. */
export function machinesDocument(): string {
  const sections: [title: string, table: Table][] = [
    ['Activity', ACTIVITY_TABLE],
    ['Release of a SKU (`byFigures`: the state that the ledger says, see `stateByFigures`)', SKU_TABLE],
    ['Order', ORDER_TABLE],
  ]
  const body = sections.map(([title, table]) => `## ${title}\n\n\`\`\`mermaid\n${diagram(table)}\n\`\`\`\n`)
  return `# State machines\n\nDrawn from the tables in \`packages/domain\`; a test checks that this page is fresh.\n\n${body.join('\n')}`
}

/** One machine as a mermaid state diagram; events that change nothing are left out. */
export function diagram(table: Table): string {
  const arrows = Object.entries(table).flatMap(([state, events]) =>
    Object.entries(events)
      .filter(([, next]) => next !== undefined && next !== 'same')
      .map(([event, next]) => `  ${state} --> ${next === 'by-figures' ? 'byFigures' : next}: ${event}`),
  )
  return ['stateDiagram-v2', ...arrows].join('\n')
}
