/** Topics whose oldest records may fall: most records of a partition. Topics that are not named lose nothing unhandled. */
export type BoundedTopics = Readonly<Record<string, number>>

/**
 * The platform's. `access`: a record holds what became of some hundred requests of a tenth of a second, 10 to 100 kB; who is
 * 2,000 of them behind is some ten seconds late, and would judge by what is over. `verdicts`: the board has those in force; this
 * is for whoever reads along, and nobody needs to. `orders` and `grants` are not here.
 */
export const BOUNDED_TOPICS: BoundedTopics = { access: 2_000, verdicts: 50_000 }

/** The bound of a topic; undefined: nothing unhandled falls. */
export function boundOf(bounded: BoundedTopics, topic: string): number | undefined {
  return Object.hasOwn(bounded, topic) ? bounded[topic] : undefined
}
