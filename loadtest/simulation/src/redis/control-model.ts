/** The scripts beside the ledger: catalog, names, nodes. */

import type { Keyspace } from './keyspace.ts'
import { ScriptRefusal } from './script-call.ts'

/** What such a script has at hand. */
export interface ControlCall {
  readonly keys: Keyspace
  readonly names: readonly string[]
  readonly args: readonly string[]
  readonly now: number
}

/** scripts/publish-6.lua */
export function publish({ keys, names, args }: ControlCall): number {
  const [revisionKey = '', docs = '', changes = '', hashes = '', digestKey = '', epochKey = ''] = names
  const [epoch = '', ...rest] = args
  const highest = keys.strings.get(epochKey) ?? '0'
  if (epoch !== '' && Number(epoch) < Number(highest)) {
    throw new ScriptRefusal(`STALE_EPOCH ${epoch} is below ${highest}`)
  }
  if (epoch !== '') keys.set(epochKey, epoch)
  if (rest.length === 0) return Number(keys.strings.get(revisionKey) ?? 0)
  const revision = Number(keys.strings.get(revisionKey) ?? 0) + 1
  keys.set(revisionKey, String(revision))
  let digest = Number.parseInt(keys.strings.get(digestKey) ?? '0', 16)
  for (let at = 0; at < rest.length; at += 3) {
    const [key = '', json = '', hash = ''] = rest.slice(at, at + 3)
    digest ^= Number(keys.hget(hashes, key) ?? 0) ^ (json === '' ? 0 : Number(hash))
    if (json === '') keys.hdel(hashes, key)
    else keys.hset(hashes, key, hash)
    keys.hset(docs, key, `${revision}|${json}`)
    keys.zadd(changes, revision, key)
  }
  keys.set(digestKey, (digest >>> 0).toString(16).padStart(8, '0'))
  return revision
}

/** scripts/lease-name-2.lua */
export function leaseName({ keys, names, args, now }: ControlCall): number {
  const [holderKey = '', fenceKey = ''] = names
  const [owner = '', ttl] = args
  const holder = keys.get(holderKey, now)
  if (holder !== null && holder !== owner) return 0
  keys.set(holderKey, owner, now + Number(ttl))
  if (holder === owner) return Number(keys.strings.get(fenceKey) ?? 0)
  const fence = Number(keys.strings.get(fenceKey) ?? 0) + 1
  keys.set(fenceKey, String(fence))
  return fence
}

/** scripts/release-name-1.lua */
export function releaseName({ keys, names, args, now }: ControlCall): number {
  const [holderKey = ''] = names
  return keys.get(holderKey, now) === args[0] && keys.del(holderKey) ? 1 : 0
}

/** scripts/raise-fence-1.lua */
export function raiseFence({ keys, names, args }: ControlCall): number {
  const [key = ''] = names
  if (Number(keys.strings.get(key) ?? 0) < Number(args[0])) keys.set(key, args[0] ?? '')
  return 0
}

/** scripts/heartbeat-1.lua */
export function heartbeat({ keys, names, args, now }: ControlCall): number {
  keys.hset(names[0] ?? '', args[0] ?? '', `${now}|${args[1]}`)
  return 1
}

/** scripts/aged-rows-1.lua */
export function agedRows({ keys, names, args, now }: ControlCall): (string | number)[] {
  const replies: (string | number)[] = []
  for (const [id, row] of [...(keys.hashes.get(names[0] ?? '') ?? [])]) {
    const bar = row.indexOf('|')
    const age = now - Number(row.slice(0, bar))
    if (age > Number(args[0])) keys.hdel(names[0] ?? '', id)
    else replies.push(Math.max(0, age), row.slice(bar + 1))
  }
  return replies
}

/** scripts/report-pressure-1.lua */
export function reportPressure(call: ControlCall): number {
  const { keys, names, args } = call
  const board = keys.hashes.get(names[0] ?? '')
  if (board?.has(args[0] ?? '') !== true && (board?.size ?? 0) >= Number(args[2])) return 0
  return heartbeat(call)
}
