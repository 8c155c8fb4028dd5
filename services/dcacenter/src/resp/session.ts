import { type Glob, GlobBudget, parseGlob } from '../core/glob.ts'
import { RespWriter } from './writer.ts'

/** Channels that one client may listen to. */
export const CHANNELS_MAX = 1_024
/** Patterns that one client may listen to; each message is compared with all of them. */
export const PATTERNS_MAX = 16
/** Wrong passwords until a client is sent away. */
export const AUTH_FAILURES_MAX = 5
/** Far more than a channel's name against sixteen patterns ever takes. */
const MATCH_STEPS_MAX = 1_000_000

/** One client as the commands see it. */
export class Session {
  readonly id: number
  readonly writer = new RespWriter()
  readonly channels = new Set<string>()
  readonly patterns = new Map<string, Glob>()
  isTrusted: boolean
  authFailures = 0
  name = ''
  /** Is the connection to be closed once everything is sent? */
  isLeaving = false

  constructor({ id, isTrusted }: { id: number; isTrusted: boolean }) {
    this.id = id
    this.isTrusted = isTrusted
  }

  get subscriptions(): number {
    return this.channels.size + this.patterns.size
  }

  /** In RESP2 a client that listens may say little else. */
  get isListening(): boolean {
    return this.writer.version === 2 && this.subscriptions > 0
  }

  /** False when there are too many. */
  subscribe(channel: string): boolean {
    if (!this.channels.has(channel) && this.channels.size >= CHANNELS_MAX) return false
    this.channels.add(channel)
    return true
  }

  /** False when there are too many. */
  psubscribe(pattern: string): boolean {
    if (!this.patterns.has(pattern) && this.patterns.size >= PATTERNS_MAX) return false
    this.patterns.set(pattern, parseGlob(pattern))
    return true
  }

  /** Would a message of this channel be sent to the client? */
  wants(channel: string): boolean {
    if (this.channels.has(channel)) return true
    const budget = new GlobBudget(MATCH_STEPS_MAX)
    for (const glob of this.patterns.values()) if (glob.matches(channel, budget)) return true
    return false
  }

  /** Writes a message: once for the channel, once for each pattern that fits. */
  deliver(channel: string, text: string): void {
    const { writer } = this
    if (this.channels.has(channel)) {
      writer.push(3)
      for (const part of ['message', channel, text]) writer.bulk(part)
    }
    const budget = new GlobBudget(MATCH_STEPS_MAX)
    for (const [pattern, glob] of this.patterns) {
      if (!glob.matches(channel, budget)) continue
      writer.push(4)
      for (const part of ['pmessage', pattern, channel, text]) writer.bulk(part)
    }
  }
}
