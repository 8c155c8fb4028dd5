/** Draws the state machines from their tables, for docs/machines.md. */

import { ACTIVITY_EVENTS, ACTIVITY_TABLE } from './activity-machine.ts'
import { ORDER_EVENTS, ORDER_TABLE } from './order-machine.ts'
import { SKU_EVENT_TYPES, SKU_GATES, SKU_TABLE } from './sku-machine.ts'

type Table = Readonly<Record<string, Readonly<Record<string, string | undefined>>>>

/** `stateByFigures` in words; a test checks that it leads to these states and no other. */
export const FIGURES_ARROWS: readonly (readonly [next: string, when: string])[] = [
  ['releasing', 'else'],
  ['tapering', 'free / stock at most taperAt'],
  ['trickling', 'free at most trickleAt'],
  ['exhausted', 'nothing free or no place left, and a unit may come back'],
  ['soldOut', 'nothing free, held or granted'],
]

/** The text of docs/machines.md. */
export function machinesDocument(): string {
  return [
    '# State machines\n\nDrawn from the tables in `packages/domain`; a test checks that this page is fresh.\n',
    section('Activity', ACTIVITY_TABLE, ACTIVITY_EVENTS),
    section('Release of a SKU', SKU_TABLE, SKU_EVENT_TYPES),
    'In every selling state (`releasing` to `soldOut`) each reading of the ledger leads to the state that its figures say:\n',
    `\`\`\`mermaid\n${['stateDiagram-v2', '  state byFigures <<choice>>', ...FIGURES_ARROWS.map(([next, when]) => `  byFigures --> ${next}: ${when}`)].join('\n')}\n\`\`\`\n`,
    gates(),
    section('Order', ORDER_TABLE, ORDER_EVENTS),
  ].join('\n')
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

/** Every pair of state and event: the next state, `·` where nothing changes, `–` where the event is refused. */
export function pairs(table: Table, events: readonly string[]): string {
  const rows = Object.entries(table).map(([state, row]) => [`\`${state}\``, ...events.map((event) => cell(row[event]))])
  return [['', ...events], ['---', ...events.map(() => '---')], ...rows]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n')
}

function cell(next: string | undefined): string {
  if (next === undefined) return '–'
  return next === 'same' ? '·' : next === 'by-figures' ? '(by figures)' : next
}

function section(title: string, table: Table, events: readonly string[]): string {
  const legend = '`·` changes nothing, `–` is refused.'
  return `## ${title}\n\n\`\`\`mermaid\n${diagram(table)}\n\`\`\`\n\nEvery state (rows) and event; ${legend}\n\n${pairs(table, events)}\n`
}

function gates(): string {
  const rows = Object.entries(SKU_GATES).map(([state, gate]) => `| \`${state}\` | ${gate} |`)
  return `| state | gate |\n| --- | --- |\n${rows.join('\n')}\n`
}
