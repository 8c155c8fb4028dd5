/**
 * A model of the Redis server: the commands and scripts that packages/store sends, over a keyspace in memory. Everything
 * above it (Ledger, GrantLog, CatalogStore …) is the product's own code. What makes the model trustworthy is
 * redis-model.integration.test.ts: thousands of random calls against it and against a real server.
 */

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { agedRows, heartbeat, leaseName, publish, raiseFence, releaseName, reportPressure } from './control-model.ts'
import { compareIds, Keyspace } from './keyspace.ts'
import { adoptGrants, claim, claimSlots, grant, lease } from './ledger-model-grants.ts'
import { open, reserve, restock, settle, sweep } from './ledger-model-orders.ts'
import { adopt, beginRebuild, endRebuild } from './ledger-model-rebuild.ts'
import { clearLines, line } from './line-model.ts'
import { NO_OMISSIONS, type Omissions, ScriptCall, ScriptRefusal, type SkuRow } from './script-call.ts'

/** A script that has run on the server. */
export interface ScriptRun {
  readonly name: string
  readonly key: string
  readonly args: readonly string[]
  readonly reply: unknown
  readonly now: number
  /** Who sent it. */
  readonly caller: string
  /** The SKUs whose figures it changed. */
  readonly changed: ReadonlyMap<string, SkuRow>
}

const LEDGER_SCRIPTS: Readonly<Record<string, (call: ScriptCall) => unknown>> = {
  'reserve-1': reserve,
  'settle-1': settle,
  'sweep-1': sweep,
  'restock-1': restock,
  'open-1': open,
  'begin-rebuild-1': beginRebuild,
  'end-rebuild-1': endRebuild,
  'adopt-1': adopt,
  'claim-1': claim,
  'claim-slots-1': claimSlots,
  'lease-1': lease,
  'grant-1': grant,
  'adopt-grants-1': adoptGrants,
  'line-1': line,
  'clear-lines-1': clearLines,
}
const CONTROL_SCRIPTS: Readonly<Record<string, (call: Parameters<typeof publish>[0]) => unknown>> = {
  'publish-6': publish,
  'lease-name-2': leaseName,
  'release-name-1': releaseName,
  'raise-fence-1': raiseFence,
  'heartbeat-1': heartbeat,
  'aged-rows-1': agedRows,
  'report-pressure-1': reportPressure,
}
const SCRIPTS_DIR = new URL('../../../../packages/store/scripts/', import.meta.url)

/** One server. `runId` changes with every start, as Redis' does. */
export class RedisModel {
  keys = new Keyspace()
  runId: string
  omit: Omissions = NO_OMISSIONS
  /** Who sends the next command. */
  caller = ''
  /** Called after each script of a ledger, with the keyspace as it left it. */
  onScript: ((run: ScriptRun) => void) | undefined
  readonly #now: () => number
  readonly #nameBySha = new Map<string, string>()

  constructor(runId: string, now: () => number) {
    this.runId = runId
    this.#now = now
  }

  /** Runs a command; throws what Redis would answer as an error. */
  command(name: string, args: readonly string[]): unknown {
    const [key = '', ...rest] = args
    switch (name) {
      case 'evalsha': {
        const script = this.#nameBySha.get(key)
        if (script === undefined) throw new ScriptRefusal('NOSCRIPT No matching script. Please use EVAL.')
        return this.#runScript(script, rest)
      }
      case 'eval':
        this.#remember(key)
        return this.#runScript(scriptNameOf(key), rest)
      default:
        return this.#plain(name, key, rest)
    }
  }

  /** EVAL makes a script known under its digest. */
  #remember(text: string): void {
    this.#nameBySha.set(createHash('sha1').update(text).digest('hex'), scriptNameOf(text))
  }

  #runScript(name: string, [count, ...rest]: readonly string[]): unknown {
    const names = rest.slice(0, Number(count))
    const args = rest.slice(Number(count))
    const now = Math.floor(this.#now())
    const ledger = LEDGER_SCRIPTS[name]
    if (ledger === undefined) return CONTROL_SCRIPTS[name]?.({ keys: this.keys, names, args, now })
    const call = new ScriptCall(this.keys, names[0] ?? '', args, { now, omit: this.omit })
    const reply = ledger(call)
    this.onScript?.({ name, key: names[0] ?? '', args, reply, now, caller: this.caller, changed: call.changed() })
    return reply
  }

  #plain(name: string, key: string, rest: readonly string[]): unknown {
    const { keys } = this
    const [first = ''] = rest
    switch (name) {
      case 'get':
        return keys.get(key, this.#now())
      case 'mget':
        return [key, ...rest].map((one) => keys.get(one, this.#now()))
      case 'set':
        return keys.set(key, first)
      case 'hget':
        return keys.hget(key, first)
      case 'hset':
        return keys.hset(key, ...rest)
      case 'hdel':
        return keys.hdel(key, first) ? 1 : 0
      case 'hmget':
        return rest.map((field) => keys.hget(key, field))
      case 'hgetall':
        return Object.fromEntries(keys.hashes.get(key) ?? [])
      case 'hlen':
        return keys.hashes.get(key)?.size ?? 0
      case 'hscan':
        return ['0', [...(keys.hashes.get(key) ?? [])].flat()]
      case 'del':
        return keys.del(key) ? 1 : 0
      default:
        return this.#collection(name, key, rest)
    }
  }

  #collection(name: string, key: string, rest: readonly string[]): unknown {
    const { keys } = this
    const [first = '', second = ''] = rest
    switch (name) {
      case 'sadd':
        return keys.sadd(key, first) ? 1 : 0
      case 'scard':
        return keys.sets.get(key)?.size ?? 0
      case 'sismember':
        return keys.sets.get(key)?.has(first) ? 1 : 0
      case 'smembers':
        return [...(keys.sets.get(key) ?? [])]
      case 'sscan':
        return ['0', [...(keys.sets.get(key) ?? [])]]
      case 'lrange':
        return [...(keys.lists.get(key) ?? [])]
      case 'zcard':
        return keys.sortedSets.get(key)?.size ?? 0
      case 'zrange':
        return keys
          .zrange(key)
          .slice(Number(first), Number(second) + 1)
          .flatMap((one) => [one, `${keys.zscore(key, one)}`])
      case 'zmscore':
        return rest.map((member) => keys.zscore(key, member)?.toString() ?? null)
      case 'zrangebyscore':
        return keys.zrange(key, { min: Number(first.replace('(', '')), isAbove: first.startsWith('(') })
      case 'xlen':
        return keys.streams.get(key)?.length ?? 0
      case 'xtrim': // with '~' a server may as well trim nothing
        return second === '=' ? keys.xtrim(key, rest[2] ?? '0-0') : 0
      case 'xrange':
        return this.#xrange(key, first, Number(rest[3] ?? Infinity), second)
      default:
        throw new ScriptRefusal(`ERR the model has no command ${name}`)
    }
  }

  #xrange(key: string, start: string, count: number, end: string): unknown {
    if (end !== '+') throw new ScriptRefusal(`ERR the model has no xrange to ${end}`)
    const entries = this.keys.streams.get(key) ?? []
    if (start === '-') return entries.slice(0, count).map(({ id, fields }) => [id, fields])
    const after = start.slice(1)
    let first = entries.length
    while (first > 0 && compareIds(entries[first - 1]?.id ?? '', after) > 0) first--
    return entries.slice(first, first + count).map(({ id, fields }) => [id, fields])
  }
}

const parts = new Map(
  readdirSync(SCRIPTS_DIR)
    .filter((file) => file.endsWith('.lua'))
    .map((file) => [file.slice(0, -'.lua'.length), readFileSync(new URL(file, SCRIPTS_DIR), 'utf8')]),
)
const names = new Map<string, string>()

/** Which script a text is: the one that stands last in it. */
function scriptNameOf(text: string): string {
  const known = names.get(text)
  if (known !== undefined) return known
  const found = [...parts].find(([name, part]) => /-(\d|n)$/.test(name) && text.endsWith(part))?.[0]
  if (found === undefined || !(found in LEDGER_SCRIPTS || found in CONTROL_SCRIPTS))
    throw new ScriptRefusal(`ERR the model has no script ${found ?? text.slice(0, 60)}`)
  names.set(text, found)
  return found
}

/** No simulated sale asks for reservations, and nobody judges its buyers. */
const LEFT_OUT = ['add-seats-1', 'adopt-seats-1', 'clear-seats-1', 'remove-seats-1', 'say-verdicts-4']

/** Every script that the store package has and the model must have: a test compares the two lists. */
export function modelledScripts(): { modelled: string[]; existing: string[] } {
  const modelled = [...Object.keys(LEDGER_SCRIPTS), ...Object.keys(CONTROL_SCRIPTS)].sort()
  return {
    modelled: [...modelled, ...LEFT_OUT].sort(),
    existing: [...parts.keys()].filter((name) => /-(\d|n)$/.test(name)).sort(),
  }
}
