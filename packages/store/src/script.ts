/** Lua scripts from `scripts/`: sent by their digest, loaded where the server does not know them. */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { CodedError } from '@bigtap/kernel'
import type { Store } from './connection.ts'

/** A script: its name, text and digest. The number of KEYS stands at the end of the name. */
export interface Script {
  readonly name: string
  readonly keys: number
  readonly text: string
  readonly sha: string
}

/** Loads a script with the parts that stand before it. */
export function loadScript(name: string, before: readonly string[] = []): Script {
  const text = [...before, name].map(readPart).join('\n')
  return { name, keys: Number(/-(\d+)$/.exec(name)?.[1]), text, sha: createHash('sha1').update(text).digest('hex') }
}

/** Runs a script. Throws a CodedError: the code that the script replied with, or STORE_FAILED with its cause. */
export async function runScript(
  { redis }: Store,
  script: Script,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
): Promise<unknown> {
  try {
    return await redis.evalsha(script.sha, script.keys, ...keys, ...args)
  } catch (error) {
    if (!isNoScript(error)) throw wrap(error, script.name)
  }
  return redis.eval(script.text, script.keys, ...keys, ...args).catch((error: unknown) => {
    throw wrap(error, script.name)
  })
}

const CODES = ['STALE_GUARD', 'STALE_FENCE', 'STALE_EPOCH', 'ABUSE_BOARD_FULL'] as const

function wrap(error: unknown, name: string): CodedError {
  const message = error instanceof Error ? error.message : String(error)
  const code = CODES.find((one) => message.includes(one)) ?? 'STORE_FAILED'
  return new CodedError({ code, message: `script ${name}: ${message}`, data: { script: name }, cause: error })
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}

function readPart(name: string): string {
  return readFileSync(new URL(`../scripts/${name}.lua`, import.meta.url), 'utf8')
}
