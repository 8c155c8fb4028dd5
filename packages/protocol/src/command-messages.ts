import { DOCUMENT_BYTES_MAX } from '@bigtap/domain'
import { create } from '@bufbuild/protobuf'
import { boundedText, encodeMessage, toU64 } from './checked.ts'
import { readBatch } from './command-decoder.ts'
import { CommandBatchSchema, type Command as CommandMessage, CommandSchema } from './gen/command_pb.ts'
import { NAME_CHARS_MAX } from './link-messages.ts'
import { malformed } from './protocol-error.ts'
import { sizeOfU32, writeU32 } from './wire.ts'

/** Most commands in one frame. */
export const COMMANDS_MAX = 4_096
/** Longest key of a command, in characters. */
export const KEY_CHARS_MAX = 128
/** Most nodes that a command may name. */
export const COMMAND_NODES_MAX = 256

/** What a command without a document begins its key with; its body holds the arguments as JSON. */
export const CALL_PREFIX = 'call:'

/**
 * One command. The key is that of a document, or `call:NAME` for what is no document.
 *
 * - `isPull`: the document is too large to go inline (over 64 KiB): the front reads it from the catalog.
 * - `isTrial`: a canary's copy that is not published yet. `revision` is the newest one of the catalog when it was made; with
 *   `isDeleted` the trial of that key is over, and what is published holds again.
 * - `nodes`: only for these; none means for all.
 */
export interface Command {
  /** Counted by the leader from 1 in its epoch, one per command. */
  sequence: number
  key: string
  revision: number
  body: Uint8Array
  isUrgent: boolean
  isDeleted: boolean
  isTrial: boolean
  isPull: boolean
  nodes: readonly string[]
}

/** A command to be written; fields left out are empty or false. */
export type CommandInit = Pick<Command, 'sequence' | 'key'> & Partial<Command>

/**
 * On one link, every command with `since < sequence <= upTo` was sent on it, or was superseded by a newer one of its key,
 * or was for other nodes. A batch with `since === upTo` carries urgent or trial commands ahead of the others.
 */
export interface BatchPosition {
  /** The leader's fence; 0 when the sender knows of no leader. */
  epoch: number
  since: number
  upTo: number
  /** Newest catalog revision that the sender knows. */
  head: number
}

/** Body of a Command frame; commands stand by ascending sequence. */
export interface CommandBatch extends BatchPosition {
  commands: readonly Command[]
}

/** Writes a batch as the body of one frame; `cutBatch` cuts one that may be too large. */
export function encodeCommandBatch(batch: BatchPosition & { commands: readonly CommandInit[] }): Uint8Array {
  checkOrder(batch, batch.commands)
  return joinCommands(batch, batch.commands.map(encodeCommand))
}

/** Throws a ProtocolError for more than 4,096 commands, a key over 128 characters, a body over 64 KiB, or sequences out of order. Bodies are views of `body`. */
export function decodeCommandBatch(body: Uint8Array): CommandBatch {
  const batch = readBatch(body, COMMANDS_MAX)
  for (const { key, body, nodes } of batch.commands) checkBounds(key, body, nodes)
  checkOrder(batch, batch.commands)
  return batch
}

/*
 * Commands are the last field of a batch, so that a batch is its position and then the commands' own bytes one after the
 * other. A sender encodes a command once and shares the bytes over all its links:
 *
 *   position │ 0x2a length command │ 0x2a length command │ …
 */
const COMMANDS_TAG = 0x2a

/** The bytes of one command as they stand in every batch; throws a ProtocolError when it breaks a bound. */
export function encodeCommand(command: CommandInit): Uint8Array {
  const bytes = encodeMessage(CommandSchema, toMessage(command))
  const out = new Uint8Array(1 + sizeOfU32(bytes.length) + bytes.length)
  out[0] = COMMANDS_TAG
  out.set(bytes, writeU32(out, 1, bytes.length))
  return out
}

/** Body of a Command frame, made of commands that are encoded already. */
export function joinCommands(position: BatchPosition, commands: readonly Uint8Array[]): Uint8Array {
  rowsWithin(commands.length)
  const head = encodeMessage(
    CommandBatchSchema,
    create(CommandBatchSchema, {
      epoch: toU64(position.epoch, 'epoch'),
      since: toU64(position.since, 'since'),
      upTo: toU64(position.upTo, 'upTo'),
      head: toU64(position.head, 'head'),
    }),
  )
  return Buffer.concat([head, ...commands])
}

function toMessage(command: CommandInit): CommandMessage {
  const { body = new Uint8Array(0), nodes = [] } = command
  checkBounds(command.key, body, nodes)
  return create(CommandSchema, {
    sequence: toU64(command.sequence, 'sequence'),
    key: command.key,
    revision: toU64(command.revision ?? 0, 'revision'),
    body,
    urgent: command.isUrgent ?? false,
    deleted: command.isDeleted ?? false,
    trial: command.isTrial ?? false,
    pull: command.isPull ?? false,
    nodes: [...nodes],
  })
}

function checkBounds(key: string, body: Uint8Array, nodes: readonly string[]): void {
  if (key === '') throw malformed('BAD_VALUE', 'command has no key', {})
  boundedText(key, 'key', KEY_CHARS_MAX)
  if (body.length > DOCUMENT_BYTES_MAX) {
    const data = { key, bytes: body.length }
    throw malformed('LENGTH_EXCEEDED', `body of ${key} has ${body.length} bytes, exceeds ${DOCUMENT_BYTES_MAX}`, data)
  }
  if (nodes.length > COMMAND_NODES_MAX) {
    throw malformed('ROWS_EXCEEDED', `nodes ${nodes.length} exceed ${COMMAND_NODES_MAX}`, { key })
  }
  for (const node of nodes) boundedText(node, 'node', NAME_CHARS_MAX)
}

function checkOrder({ since, upTo }: BatchPosition, commands: readonly CommandInit[]): void {
  rowsWithin(commands.length)
  if (since > upTo) throw malformed('BAD_VALUE', `since ${since} exceeds upTo ${upTo}`, { since, upTo })
  let last = since < upTo ? since : 0
  for (const { sequence } of commands) {
    if (sequence <= last) throw malformed('BAD_VALUE', `sequence ${sequence} follows ${last}`, { sequence, last })
    last = sequence
  }
  if (since < upTo && last > upTo) throw malformed('BAD_VALUE', `sequence ${last} exceeds upTo ${upTo}`, { last, upTo })
}

function rowsWithin(commands: number): void {
  if (commands > COMMANDS_MAX) {
    throw malformed('ROWS_EXCEEDED', `commands ${commands} exceed ${COMMANDS_MAX}`, { commands })
  }
}
