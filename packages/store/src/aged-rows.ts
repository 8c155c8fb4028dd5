/** Hashes whose rows say when Redis took them: `time|text`. Ages are told by Redis' clock, so that no node's clock matters. */

import type { Store } from './connection.ts'
import { loadScript, runScript } from './script.ts'

const READ = loadScript('aged-rows-1')

/** The rows that `parse` takes, each with its age, ms; rows older than `oldestMs` leave the hash, foreign ones are passed over. */
export async function readAged<T extends object>(
  store: Store,
  key: string,
  { oldestMs, parse }: { oldestMs: number; parse: (text: string) => T | undefined },
): Promise<(T & { readonly ageMs: number })[]> {
  const rows = (await runScript(store, READ, [key], [oldestMs])) as (number | string)[]
  const found: (T & { readonly ageMs: number })[] = []
  for (let at = 0; at < rows.length; at += 2) {
    const value = parse(String(rows[at + 1]))
    if (value !== undefined) found.push({ ...value, ageMs: Number(rows[at]) })
  }
  return found
}
