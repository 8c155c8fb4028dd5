/** Who this process is on its links. */
export interface Identity {
  nodeId: string
  role: string
  /** Shared by all nodes of one platform; proved in the Hello, never sent. */
  clusterSecret: string
}

/** Limits of one link. */
export interface LinkLimits {
  /** Bytes that may wait for the peer; beyond, send() answers false. */
  unsentBytesMax: number
  /** Longest body that is read from a peer that has proved who it is. */
  bodyBytesMax: number
  /** A link that was silent this long is pinged. */
  pingMs: number
  /** A link that was silent this long is dead. */
  deadMs: number
  /** A peer that reads nothing for this long, while bytes wait for it, is cut off. */
  stallMs: number
  /** Connect and Hello together must be done by then. */
  helloMs: number
  /** How long stop() waits for what is under way. */
  drainMs: number
}

/** Limits of a link that names none. */
export const DEFAULT_LIMITS: Readonly<LinkLimits> = Object.freeze({
  unsentBytesMax: 4_194_304,
  bodyBytesMax: 1_048_576,
  pingMs: 500,
  deadMs: 1_500,
  stallMs: 5_000,
  helloMs: 1_500,
  drainMs: 1_000,
})

/** Longest body before the Hello is proved. */
export const HELLO_BYTES_MAX = 1_024
