export { createEdge, EDGE_LIMITS, type EdgeParts, type EdgeSettings, Problem, readJson } from './edge.ts'
export { readUid } from './session.ts'
