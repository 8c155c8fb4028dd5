import { DOCUMENT_BYTES_MAX } from '@bigtap/domain'
import { type BatchPosition, COMMANDS_MAX, type CommandInit, encodeCommand, joinCommands } from './command-messages.ts'

/** 256 KiB: a frame is short enough for an urgent one to get between, and always holds the longest command. */
export const CUT_BYTES_MAX = 4 * DOCUMENT_BYTES_MAX

/** A command and the bytes that it has in every batch. */
export interface EncodedCommand {
  readonly sequence: number
  readonly bytes: Uint8Array
}

/** How many of `commands`, from `from` on, fit in one frame: at least one. */
export function commandsThatFit(commands: readonly EncodedCommand[], from: number, bytesMax = CUT_BYTES_MAX): number {
  let bytes = 0
  let count = 0
  for (let at = from; at < commands.length && count < COMMANDS_MAX; at++) {
    bytes += commands[at]?.bytes.length ?? 0
    if (count > 0 && bytes > bytesMax) break
    count++
  }
  return count
}

/**
 * Cuts a batch, by ascending sequence, into the bodies of as many frames as it needs; at least one. Each says how far it
 * goes, so that a receiver that loses the later ones knows.
 *
 *   since 4, upTo 9, [5 7 8]  ─►  4…7 [5 7]   7…9 [8]
 */
export function cutBatch(position: BatchPosition, commands: readonly EncodedCommand[]): Uint8Array[] {
  const isAhead = position.since === position.upTo
  const bodies: Uint8Array[] = []
  let { since } = position
  let at = 0
  do {
    const count = commandsThatFit(commands, at)
    const cut = commands.slice(at, at + count)
    at += count
    const upTo = isAhead || at === commands.length ? position.upTo : (cut.at(-1)?.sequence ?? position.upTo)
    bodies.push(
      joinCommands(
        { ...position, since, upTo },
        cut.map((one) => one.bytes),
      ),
    )
    since = upTo
  } while (at < commands.length)
  return bodies
}

/** The same for commands that are not encoded yet. */
export function encodeCommandBatches(batch: BatchPosition & { commands: readonly CommandInit[] }): Uint8Array[] {
  const encoded = batch.commands.map((command) => ({ sequence: command.sequence, bytes: encodeCommand(command) }))
  return cutBatch(batch, encoded)
}
