import { create } from '@bufbuild/protobuf'
import { boundedText, decodeMessage, encodeMessage, toNumber, toU64 } from './checked.ts'
import { KEY_CHARS_MAX } from './command-messages.ts'
import { BODY_BYTES_MAX } from './frame.ts'
import {
  type Ack as AckMessage,
  AckReportSchema,
  AckSchema,
  type NodeAck as NodeAckMessage,
  NodeAckSchema,
} from './gen/command_pb.ts'
import { NAME_CHARS_MAX } from './link-messages.ts'
import { malformed } from './protocol-error.ts'

/** Most refusals that one ack names; a node with more of them names the first. */
export const REFUSED_MAX = 64
/** Most sequences that one ack names as taken ahead of their turn. */
export const AHEAD_MAX = 1_024
/** Most nodes in one report. */
export const REPORT_NODES_MAX = 1_024
/** Longest error of a refusal, in characters. */
export const ERROR_CHARS_MAX = 256

/** A command that a node did not take, and why; the last good document stays. */
export interface RefusedCommand {
  key: string
  revision: number
  error: string
}

/** What a front has after a frame of commands; correlation 0 when it says so by itself. */
export interface Ack {
  epoch: number
  upTo: number
  /** Every document up to this catalog revision is applied, but for those that were refused. */
  revision: number
  digest: string
  /** Longest delay of the node's event loop lately, ms. */
  eventLoopMs: number
  refused: readonly RefusedCommand[]
  /** Sequences above `upTo` that were taken ahead of their turn. */
  ahead: readonly number[]
}

/** An ack with what the router knows of the node. */
export interface NodeAck extends Ack {
  nodeId: string
  role: string
  /** Its link is gone; the rest is what it said last. */
  isGone: boolean
  /** The node's clock minus the router's, ms. */
  clockOffsetMs: number
  roundTripMs: number
}

/** Body of an AckReport frame. */
export interface AckReport {
  nodes: readonly NodeAck[]
}

/** Writes the body of an Ack; refusals and sequences over their limits are left out, longer errors are cut. */
export function encodeAck(ack: Ack): Uint8Array {
  return encodeMessage(AckSchema, ackToMessage(ack))
}

/** Throws a ProtocolError for a number over 2^53 - 1 or a list or text over its limit. */
export function decodeAck(body: Uint8Array): Ack {
  return ackFromMessage(decodeMessage(AckSchema, body))
}

/** Writes the body of one AckReport; throws a ProtocolError for more than 1,024 nodes. */
export function encodeAckReport(report: AckReport): Uint8Array {
  nodesWithin(report.nodes.length)
  return Buffer.concat(report.nodes.map(encodeRow))
}

/** The same for any number of nodes, in as many bodies as they need. */
export function encodeAckReports(nodes: readonly NodeAck[]): Uint8Array[] {
  const bodies: Uint8Array[] = []
  let rows: Uint8Array[] = []
  let bytes = 0
  for (const row of nodes.map(encodeRow)) {
    if (rows.length >= REPORT_NODES_MAX || bytes + row.length > BODY_BYTES_MAX) {
      bodies.push(Buffer.concat(rows))
      rows = []
      bytes = 0
    }
    rows.push(row)
    bytes += row.length
  }
  return rows.length === 0 ? bodies : [...bodies, Buffer.concat(rows)]
}

/** Throws a ProtocolError for more than 1,024 nodes, a nameless one, or a bad ack. */
export function decodeAckReport(body: Uint8Array): AckReport {
  const { nodes } = decodeMessage(AckReportSchema, body)
  nodesWithin(nodes.length)
  return { nodes: nodes.map(nodeFromMessage) }
}

function encodeRow(node: NodeAck): Uint8Array {
  const row = create(NodeAckSchema, {
    nodeId: boundedText(node.nodeId, 'nodeId', NAME_CHARS_MAX),
    role: boundedText(node.role, 'role', NAME_CHARS_MAX),
    ack: ackToMessage(node),
    gone: node.isGone,
    clockOffsetMs: finite(node.clockOffsetMs, 'clockOffsetMs'),
    roundTripMs: finite(node.roundTripMs, 'roundTripMs'),
  })
  return encodeMessage(AckReportSchema, create(AckReportSchema, { nodes: [row] }))
}

function nodeFromMessage(message: NodeAckMessage): NodeAck {
  const { nodeId, role, ack, gone, clockOffsetMs, roundTripMs } = message
  if (nodeId === '' || ack === undefined) throw malformed('BAD_VALUE', 'row names no node or has no ack', { nodeId })
  return {
    ...ackFromMessage(ack),
    nodeId: boundedText(nodeId, 'nodeId', NAME_CHARS_MAX),
    role: boundedText(role, 'role', NAME_CHARS_MAX),
    isGone: gone,
    clockOffsetMs: finite(clockOffsetMs, 'clockOffsetMs'),
    roundTripMs: finite(roundTripMs, 'roundTripMs'),
  }
}

function ackToMessage(ack: Ack): AckMessage {
  return create(AckSchema, {
    epoch: toU64(ack.epoch, 'epoch'),
    upTo: toU64(ack.upTo, 'upTo'),
    revision: toU64(ack.revision, 'revision'),
    digest: boundedText(ack.digest, 'digest', NAME_CHARS_MAX),
    eventLoopMs: finite(ack.eventLoopMs, 'eventLoopMs'),
    refused: ack.refused.slice(0, REFUSED_MAX).map(({ key, revision, error }) => ({
      key: key.slice(0, KEY_CHARS_MAX),
      revision: toU64(revision, 'revision'),
      error: error.slice(0, ERROR_CHARS_MAX),
    })),
    ahead: ack.ahead.slice(0, AHEAD_MAX).map((sequence) => toU64(sequence, 'ahead')),
  })
}

function ackFromMessage(message: AckMessage): Ack {
  listWithin(message.refused.length, REFUSED_MAX, 'refused')
  listWithin(message.ahead.length, AHEAD_MAX, 'ahead')
  return {
    epoch: toNumber(message.epoch, 'epoch'),
    upTo: toNumber(message.upTo, 'upTo'),
    revision: toNumber(message.revision, 'revision'),
    digest: boundedText(message.digest, 'digest', NAME_CHARS_MAX),
    eventLoopMs: finite(message.eventLoopMs, 'eventLoopMs'),
    refused: message.refused.map(({ key, revision, error }) => ({
      key: boundedText(key, 'key', KEY_CHARS_MAX),
      revision: toNumber(revision, 'revision'),
      error: boundedText(error, 'error', ERROR_CHARS_MAX),
    })),
    ahead: message.ahead.map((sequence) => toNumber(sequence, 'ahead')),
  }
}

function finite(value: number, field: string): number {
  if (!Number.isFinite(value)) throw malformed('BAD_VALUE', `${field} ${value} is no number`, { field })
  return value
}

function nodesWithin(nodes: number): void {
  listWithin(nodes, REPORT_NODES_MAX, 'nodes')
}

function listWithin(length: number, max: number, field: string): void {
  if (length > max) throw malformed('ROWS_EXCEEDED', `${field} ${length} exceed ${max}`, { field, length })
}
