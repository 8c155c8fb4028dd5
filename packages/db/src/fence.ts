/**
 * Who may change what is defined: the newest leader. Its epoch stands in the settings; a fenced client compares it inside
 * the transaction of every change, so a leader that was deposed changes nothing, however late its statement arrives.
 *
 * ```
 *   leader 6   BEGIN  epoch = 6? FOR SHARE ── change ── COMMIT         BEGIN  epoch = 6? ─ no: STALE_EPOCH
 *   leader 7          take 7 ......... waits for the share ......... 7 stands, then everything is loaded
 * ```
 */

import { CodedError } from '@bigtap/kernel'
import { guarded } from './errors.ts'
import type { Prisma, PrismaClient } from './generated/client.ts'

/** A leader: `epoch` is the fence of its lease. */
export interface Reigning {
  readonly epoch: number
  readonly owner: string
}

/** Name of the setting that keeps the newest leader. */
export const FENCE_SETTING = 'master.epoch'

/** Calls of a model that change something; what is not named here is a read. */
const CHANGES = ['create', 'createMany', 'update', 'updateMany', 'upsert', 'delete', 'deleteMany']

/** Takes over when no other leader has an epoch as high. Returns the leader that stands now. */
export async function takeFence(prisma: PrismaClient, { epoch, owner }: Reigning, at: number): Promise<Reigning> {
  const value = JSON.stringify({ epoch, owner })
  await guarded(
    'taking over',
    () => prisma.$executeRaw`
    INSERT INTO settings (key, value, updated_at) VALUES (${FENCE_SETTING}, ${value}::jsonb, ${at})
    ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, updated_at = EXCLUDED.updated_at
    WHERE (settings.value ->> 'epoch')::bigint < ${epoch}`,
  )
  const query = { where: { key: FENCE_SETTING } }
  const row = await guarded('reading who leads', () => prisma.setting.findUnique(query))
  return (row?.value ?? { epoch: 0, owner: '' }) as unknown as Reigning
}

/** A client whose changes are made only while this leader is the newest; otherwise they reject with STALE_EPOCH. */
export function fencedClient(prisma: PrismaClient, reigning: Reigning): PrismaClient {
  const inFence = <T>(work: (tx: Prisma.TransactionClient) => Promise<T>) =>
    prisma.$transaction(async (tx) => {
      const rows = await tx.$queryRaw<{ value: Reigning }[]>`
        SELECT value FROM settings WHERE key = ${FENCE_SETTING} FOR SHARE`
      compare(rows.at(0)?.value, reigning)
      return work(tx)
    })
  return new Proxy(prisma, {
    get: (client, name) => {
      if (name === '$transaction') return inFence
      const value: unknown = Reflect.get(client, name)
      if (typeof value === 'function') return value.bind(client)
      const isModel = typeof value === 'object' && value !== null && /^[a-z]/.test(String(name))
      return isModel ? fencedModel(value, String(name), inFence) : value
    },
  })
}

type Model = Record<string, (args: unknown) => Promise<unknown>>
type InFence = <T>(work: (tx: Prisma.TransactionClient) => Promise<T>) => Promise<T>

function fencedModel(model: object, name: string, inFence: InFence): object {
  return new Proxy(model, {
    get: (target, call) => {
      if (typeof call !== 'string' || !CHANGES.includes(call)) return Reflect.get(target, call)
      return (args: unknown) => inFence(async (tx) => (tx as unknown as Record<string, Model>)[name]?.[call]?.(args))
    },
  })
}

function compare(found: Reigning | undefined, { epoch, owner }: Reigning): void {
  if (found?.epoch === epoch && found.owner === owner) return
  const message = `epoch ${epoch} of ${owner} is over: ${found?.epoch ?? 0} of ${found?.owner ?? 'nobody'} leads`
  throw new CodedError({ code: 'STALE_EPOCH', message, data: { epoch, newest: found?.epoch ?? 0 } })
}
