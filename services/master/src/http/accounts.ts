/** Who may sign in: `operator` with a password from the settings, and accounts with hashed passwords. */

import { createHash, scrypt, timingSafeEqual } from 'node:crypto'
import { CodedError } from '@bigtap/kernel'

/** What somebody may do: a viewer reads, an operator and an admin also change. */
export type Role = 'viewer' | 'operator' | 'admin'

/** An account. `stamp` changes with the password: sessions made with another one are over. */
export interface Account {
  readonly name: string
  readonly role: Role
  readonly stamp: string
  verify(password: string): Promise<boolean>
}

const ACCOUNT = /^([\w.-]{1,64}):(viewer|operator|admin):([0-9a-f]{16,128})\.([0-9a-f]{64})$/
const HASH_BYTES = 32

/** The account whose password is a setting. */
export function plainAccount(name: string, role: Role, password: string): Account {
  const verify = async (given: string) => timingSafeEqual(sha256(given), sha256(password))
  return { name, role, stamp: sha256(password).toString('hex'), verify }
}

/** Reads `name:role:<salt hex>.<scrypt hash hex>` items; throws a CodedError BAD_OPERATORS that counts to the bad one. */
export function parseAccounts(items: readonly string[]): Account[] {
  return items.map((item, index) => {
    const [, name, role, salt, hash] = ACCOUNT.exec(item.trim()) ?? []
    if (name === undefined || salt === undefined || hash === undefined) {
      const message = `BIGTAP_OPERATORS: item ${index + 1} is not name:role:salt.hash`
      throw new CodedError({ code: 'BAD_OPERATORS', message })
    }
    return hashedAccount(name, role as Role, { salt, hash })
  })
}

/** `salt.hash` of a password, for BIGTAP_OPERATORS. */
export async function hashPassword(password: string, salt: string): Promise<string> {
  return `${salt}.${(await derive(password, salt)).toString('hex')}`
}

function hashedAccount(name: string, role: Role, { salt, hash }: { salt: string; hash: string }): Account {
  const wanted = Buffer.from(hash, 'hex')
  const verify = async (given: string) => timingSafeEqual(await derive(given, salt), wanted)
  return { name, role, stamp: `${salt}.${hash}`, verify }
}

function derive(password: string, salt: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, Buffer.from(salt, 'hex'), HASH_BYTES, (error, key) => (error ? reject(error) : resolve(key)))
  })
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
