/**
 * The gate before every configuration: documents are tried by one limiter and one Middle before they are published.
 *
 * ```
 *   idle ─ begin ─► trying ─ both have taken them, none refused ─► watching ─ 200 ms linked and quick ─► passed
 *                     │ refused, gone, or 1 s over                    │ gone, or its event loop stands still
 *                     └──────────────────► failed ◄───────────────────┘     the canaries get the old documents back
 * ```
 * Whatever it comes to, the trial is over then: the documents that are published replace it, or its end undoes it.
 */

/** A document that is to be published; null deletes it. */
export interface GateDocument {
  readonly key: string
  readonly body: unknown
}

/** What a canary says. */
export interface CanaryWord {
  readonly nodeId: string
  /** It has taken the trial's last command. */
  readonly hasTaken: boolean
  readonly refused: readonly { readonly key: string; readonly error: string }[]
  readonly eventLoopMs: number
}

/** State of the gate. */
export type GateState =
  | { readonly name: 'idle' }
  | {
      readonly name: 'trying' | 'watching'
      readonly keys: readonly string[]
      readonly canaries: readonly string[]
      /** Since when it is in this state, ms of a monotonic clock. */
      readonly since: number
    }

/** What happens to the gate. `canaries` are linked nodes; a `word` with an undefined canary is one that is gone. */
export type GateEvent =
  | { readonly type: 'begin'; readonly documents: readonly GateDocument[]; readonly canaries: readonly string[] }
  | { readonly type: 'words'; readonly words: readonly (CanaryWord | undefined)[] }

/** What is to be done. */
export type GateCommand =
  | { readonly type: 'try'; readonly documents: readonly GateDocument[]; readonly canaries: readonly string[] }
  | { readonly type: 'undo'; readonly keys: readonly string[]; readonly canaries: readonly string[] }
  | { readonly type: 'pass' }
  | { readonly type: 'fail'; readonly reason: string }

/** Times of the gate, ms. */
export const GATE_MS = { try: 1_000, watch: 200, eventLoop: 250 } as const
/** Roles that try documents, one node of each. */
export const CANARY_ROLES: readonly string[] = ['limiter', 'middle']
export const IDLE: GateState = { name: 'idle' }

/** One step. Throws for a second trial: its caller lets only one in. */
export function stepGate(state: GateState, event: GateEvent, now: number): [GateState, GateCommand[]] {
  if (event.type === 'begin') return begin(state, event, now)
  if (state.name === 'idle') return [state, []]
  const bad = faultOf(state, event.words)
  if (bad !== undefined) return fail(state, bad)
  if (state.name === 'watching') return now - state.since >= GATE_MS.watch ? [IDLE, [{ type: 'pass' }]] : [state, []]
  if (event.words.every((word) => word?.hasTaken === true)) return [{ ...state, name: 'watching', since: now }, []]
  const late = state.canaries.filter((_, index) => event.words[index]?.hasTaken !== true)
  return now - state.since >= GATE_MS.try
    ? fail(state, `${late.join(', ')} did not ack in ${GATE_MS.try} ms`)
    : [state, []]
}

function begin(
  state: GateState,
  { documents, canaries }: Extract<GateEvent, { type: 'begin' }>,
  now: number,
): [GateState, GateCommand[]] {
  if (state.name !== 'idle') throw new Error(`a trial cannot begin while the gate is ${state.name}`)
  if (canaries.length === 0 || documents.length === 0) return [IDLE, [{ type: 'pass' }]]
  const keys = documents.map(({ key }) => key)
  return [{ name: 'trying', keys, canaries, since: now }, [{ type: 'try', documents, canaries }]]
}

function fail({ keys, canaries }: Exclude<GateState, { name: 'idle' }>, reason: string): [GateState, GateCommand[]] {
  return [
    IDLE,
    [
      { type: 'undo', keys, canaries },
      { type: 'fail', reason },
    ],
  ]
}

/** What no canary may do; a word of one that has not taken the trial yet tells nothing of it. */
function faultOf(
  { name, keys, canaries }: Exclude<GateState, { name: 'idle' }>,
  words: readonly (CanaryWord | undefined)[],
): string | undefined {
  for (const [index, canary] of canaries.entries()) {
    const word = words[index]
    if (word === undefined) return `${canary} is gone`
    const refusal = word.refused.find(({ key }) => keys.includes(key))
    if (refusal !== undefined) return `${canary} refused ${refusal.key}: ${refusal.error}`
    if (name === 'watching' && word.eventLoopMs >= GATE_MS.eventLoop)
      return `the event loop of ${canary} stood still for ${Math.round(word.eventLoopMs)} ms`
  }
  return undefined
}

/** One live, linked node of each role that tries; the first by name, so that it is known which. */
export function chooseCanaries(
  nodes: readonly { id: string; role: string; isLinked: boolean; isLive: boolean }[],
): string[] {
  return CANARY_ROLES.flatMap((role) => {
    const able = nodes.filter((node) => node.role === role && node.isLinked && node.isLive).map(({ id }) => id)
    return able.sort().slice(0, 1)
  })
}
