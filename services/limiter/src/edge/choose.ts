/** Which edge serves: chosen once, at the start, and said in the log. */

import type { Logger } from '@bigtap/kernel'
import type { Edge, EdgeKind, EdgeParts, EdgeSettings } from './edge.ts'
import { createNodeEdge } from './node-edge.ts'
import { createUwsEdge, loadUws } from './uws-edge.ts'

/** Makes the wanted edge; `auto` is uWebSockets.js where it is native, else node:http. */
export function chooseEdge(
  wanted: EdgeKind | 'auto',
  settings: EdgeSettings,
  { logger, ...parts }: EdgeParts & { logger: Logger },
): Edge {
  const uws = wanted === 'node' ? undefined : loadUws()
  const edge = uws === undefined ? createNodeEdge(settings, parts) : createUwsEdge(uws, settings, parts)
  const reason = wanted === 'node' ? 'as set' : uws === undefined ? 'uWebSockets.js is not native here' : 'native'
  if (wanted === 'uws' && uws === undefined) logger.warn({ edge: edge.kind, reason }, 'the wanted edge is not there')
  else logger.info({ edge: edge.kind, reason }, 'edge chosen')
  return edge
}
