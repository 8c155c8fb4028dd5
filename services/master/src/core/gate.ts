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

/** A node that tries, and the longest delay of its event loop before, ms: what it suffered then is not the trial's fault. */
export interface Canary {
  readonly nodeId: string
  readonly eventLoopMs: number
}

/** State of the gate. */
export type GateState =
  | { readonly name: 'idle' }
  | {
      readonly name: 'trying' | 'watching'
      readonly keys: readonly string[]
      readonly canaries: readonly Canary[]
      /** Since when it is in this state, ms of a monotonic clock. */
      readonly since: number
    }

type Busy = Exclude<GateState, { name: 'idle' }>

/** What happens to the gate. `canaries` are linked nodes; a `word` with an undefined canary is one that is gone. */
export type GateEvent =
  | { readonly type: 'begin'; readonly documents: readonly GateDocument[]; readonly canaries: readonly Canary[] }
  | { readonly type: 'words'; readonly words: readonly (CanaryWord | undefined)[] }

/** What is to be done. */
export type GateCommand =
  | { readonly type: 'try'; readonly documents: readonly GateDocument[]; readonly canaries: readonly string[] }
  | { readonly type: 'undo'; readonly keys: readonly string[]; readonly canaries: readonly string[] }
  | { readonly type: 'pass' }
  /** `isSlow`: a canary was late or stood still; it may have been the machine, and is tried once more. */
  | { readonly type: 'fail'; readonly reason: string; readonly isSlow: boolean }

/** Times of the gate, ms. */
export const GATE_MS = { try: 1_000, watch: 200, eventLoop: 250 } as const
/** A canary whose event loop was slow before the trial must become this much slower. */
const SLOWER = 2
/** Roles that try documents, one node of each. */
export const CANARY_ROLES: readonly string[] = ['limiter', 'middle']
/** Nothing is tried. */
export const IDLE: GateState = { name: 'idle' }

/** One step. Throws for a second trial: its caller lets only one in. */
export function stepGate(state: GateState, event: GateEvent, now: number): [GateState, GateCommand[]] {
  if (event.type === 'begin') return begin(state, event, now)
  if (state.name === 'idle') return [state, []]
  const bad = faultOf(state, event.words)
  if (bad !== undefined) return fail(state, bad)
  const still = standsStill(state, event.words)
  if (still !== undefined) return fail(state, still, true)
  if (state.name === 'watching') return now - state.since >= GATE_MS.watch ? [IDLE, [{ type: 'pass' }]] : [state, []]
  if (event.words.every((word) => word?.hasTaken === true)) return [{ ...state, name: 'watching', since: now }, []]
  const late = state.canaries.filter((_, index) => event.words[index]?.hasTaken !== true).map(({ nodeId }) => nodeId)
  return now - state.since >= GATE_MS.try
    ? fail(state, `${late.join(', ')} did not ack in ${GATE_MS.try} ms`, true)
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
  return [
    { name: 'trying', keys, canaries, since: now },
    [{ type: 'try', documents, canaries: canaries.map(({ nodeId }) => nodeId) }],
  ]
}

function fail({ keys, canaries }: Busy, reason: string, isSlow = false): [GateState, GateCommand[]] {
  const nodes = canaries.map(({ nodeId }) => nodeId)
  return [
    IDLE,
    [
      { type: 'undo', keys, canaries: nodes },
      { type: 'fail', reason, isSlow },
    ],
  ]
}

/** What no canary may do. */
function faultOf({ keys, canaries }: Busy, words: readonly (CanaryWord | undefined)[]): string | undefined {
  for (const [index, { nodeId }] of canaries.entries()) {
    const word = words[index]
    if (word === undefined) return `${nodeId} is gone`
    const refusal = word.refused.find(({ key }) => keys.includes(key))
    if (refusal !== undefined) return `${nodeId} refused ${refusal.key}: ${refusal.error}`
  }
  return undefined
}

/** Looked at once the trial was taken: before, a slow event loop tells nothing of it. */
function standsStill({ name, canaries }: Busy, words: readonly (CanaryWord | undefined)[]): string | undefined {
  if (name !== 'watching') return undefined
  for (const [index, { nodeId, eventLoopMs: before }] of canaries.entries()) {
    const nowMs = words[index]?.eventLoopMs ?? 0
    if (nowMs >= Math.max(GATE_MS.eventLoop, before * SLOWER))
      return `the event loop of ${nodeId} stood still for ${Math.round(nowMs)} ms`
  }
  return undefined
}

/** One live, linked node of each role that tries; the first by name, so that it is known which. */
export function chooseCanaries(nodes: readonly CanaryFact[]): Canary[] {
  return CANARY_ROLES.flatMap((role) =>
    nodes
      .filter((node) => node.role === role && node.isLinked && node.isLive && node.state === 'ready')
      .sort((a, b) => a.id.localeCompare(b.id))
      .slice(0, 1)
      .map(({ id, eventLoopMs = 0 }) => ({ nodeId: id, eventLoopMs })),
  )
}

/** What is looked at of a node. */
export interface CanaryFact {
  readonly id: string
  readonly role: string
  /** One that joins or leaves is about to be gone. */
  readonly state: string
  readonly isLinked: boolean
  readonly isLive: boolean
  readonly eventLoopMs: number | undefined
}
