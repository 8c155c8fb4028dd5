import { type Command, type CommandBatch, decodeCommandBatch } from '@bigtap/protocol'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { FanOut } from './fan-out.ts'
import { Node, WINDOW_BYTES } from './node.ts'

const ACK = { epoch: 1, upTo: 0, revision: 0, digest: '', eventLoopMs: 0, refused: [], ahead: [] }

/** The catalog and the leader that writes it; `batch` counts as a leader does. */
class Leader {
  readonly catalog = new Map<string, number>()
  epoch = 1
  revision = 0
  sequence = 0
  upTo = 0

  command(key: string, init: Partial<Command> = {}): Command {
    const isDocument = init.isTrial !== true && !key.startsWith('call:')
    if (isDocument) this.catalog.set(key, ++this.revision)
    return {
      ...{ sequence: ++this.sequence, key, revision: this.revision, body: Buffer.from('{}') },
      ...{ isUrgent: false, isDeleted: false, isTrial: false, isPull: false, nodes: [] },
      ...init,
    }
  }

  batch(...commands: Command[]): CommandBatch {
    const since = this.upTo
    this.upTo = this.sequence
    return { epoch: this.epoch, since, upTo: this.upTo, head: this.revision, commands }
  }

  ahead(...commands: Command[]): CommandBatch {
    return { epoch: this.epoch, since: this.upTo, upTo: this.upTo, head: this.revision, commands }
  }
}

/** A front as the protocol has it: applies what is newer, reads the catalog on a gap. */
class Front {
  readonly held = new Map<string, number>()
  readonly got: string[] = []
  gaps = 0
  #epoch = -1
  #upTo = -1
  readonly #leader: Leader

  constructor(leader: Leader) {
    this.#leader = leader
  }

  receive(body: Uint8Array): CommandBatch {
    const batch = decodeCommandBatch(body)
    const isGap = batch.epoch !== this.#epoch || batch.since !== this.#upTo
    this.#epoch = batch.epoch
    this.#upTo = batch.upTo
    if (isGap) {
      this.gaps++
      for (const [key, revision] of this.#leader.catalog) this.held.set(key, revision)
    }
    for (const { key, revision, isTrial } of batch.commands) {
      this.got.push(key)
      if (!isTrial) this.held.set(key, Math.max(revision, this.held.get(key) ?? 0))
    }
    return batch
  }
}

class Link {
  readonly node: Node
  readonly front: Front
  readonly wire: { correlation: number; body: Uint8Array }[] = []
  isBlocked = false
  readonly #fanOut: FanOut

  constructor(fanOut: FanOut, leader: Leader, nodeId = 'n1') {
    this.#fanOut = fanOut
    this.node = new Node(nodeId, 'limiter')
    this.front = new Front(leader)
    fanOut.join(this.node)
  }

  pump(): void {
    this.#fanOut.pump(this.node, (correlation, body) => {
      if (!this.isBlocked) this.wire.push({ correlation, body })
      return !this.isBlocked
    })
  }

  /** One frame arrives and is acked. */
  deliver(): CommandBatch | undefined {
    const frame = this.wire.shift()
    if (frame === undefined) return undefined
    const batch = this.front.receive(frame.body)
    this.node.acked(frame.correlation, { ...ACK, epoch: batch.epoch, upTo: batch.upTo })
    return batch
  }

  /** Everything that is to come has come. */
  settle(): void {
    this.isBlocked = false
    do this.pump()
    while (this.deliver() !== undefined)
    this.pump()
  }
}

let leader: Leader
let fanOut: FanOut
let link: Link
const batches = () => link.wire.map(({ body }) => decodeCommandBatch(body))

beforeEach(() => {
  leader = new Leader()
  fanOut = new FanOut()
  link = new Link(fanOut, leader)
})

describe('a front that is linked', () => {
  test('hears first where the catalog stands, and looks there by itself', () => {
    leader.command('a')
    fanOut.take(leader.batch())
    link = new Link(fanOut, leader)
    link.settle()

    expect(link.front.gaps).toBe(1)
    expect(link.front.held).toEqual(leader.catalog)
  })

  test('to a router that has just started hears that it knows nothing', () => {
    link.pump()

    expect(batches()).toEqual([{ epoch: 0, since: 0, upTo: 0, head: 0, commands: [] }])
  })

  test('gets commands in one frame per turn, without a gap', () => {
    fanOut.take(leader.batch())
    link.settle()
    fanOut.take(leader.batch(leader.command('a'), leader.command('b')))
    fanOut.take(leader.batch(leader.command('c')))
    link.pump()

    expect(batches()).toMatchObject([{ since: 0, upTo: 3, commands: [{ key: 'a' }, { key: 'b' }, { key: 'c' }] }])
    link.settle()
    expect(link.front.gaps).toBe(1)
  })

  test('shares the bytes of a frame with all that are as far', () => {
    const links = Array.from({ length: 5 }, (_, n) => new Link(fanOut, leader, `m${n}`))
    fanOut.take(leader.batch(leader.command('a')))
    for (const one of links) one.pump()
    const bodies = new Set(links.map((one) => one.wire.at(-1)?.body))

    expect(bodies.size).toBe(1)
  })
})

describe('a front that is slow', () => {
  const large = { body: Buffer.alloc(60_000) }
  beforeEach(() => {
    fanOut.take(leader.batch())
    link.settle()
  })

  test('is sent the newest of each key, once it takes something again', () => {
    link.isBlocked = true
    for (let n = 0; n < 50; n++) {
      fanOut.take(leader.batch(leader.command('a'), leader.command('b')))
      link.pump()
    }
    expect(fanOut.backlog.size).toBe(2)
    expect(fanOut.backlog.superseded).toBe(98)
    link.settle()

    expect(link.front.got).toEqual(['a', 'b'])
    expect(link.front.held).toEqual(leader.catalog)
    expect(link.front.gaps).toBe(1)
  })

  test('has no more than a window of unread frames, so that what is urgent soon gets through', () => {
    fanOut.take(leader.batch(...Array.from({ length: 60 }, (_, n) => leader.command(`k${n}`, large))))
    link.pump()
    fanOut.take(leader.batch(leader.command('stop', { isUrgent: true })))
    link.pump()
    const bytes = link.wire.slice(0, -1).reduce((sum, { body }) => sum + body.length, 0)

    expect(bytes).toBeLessThanOrEqual(WINDOW_BYTES + 61_000)
    expect(
      batches()
        .at(-1)
        ?.commands.map(({ key }) => key),
    ).toEqual(['stop'])
    link.settle()
    expect(link.front.held).toEqual(leader.catalog)
    expect(link.front.gaps).toBe(1)
  })

  test('does not hold up the others', () => {
    const other = new Link(fanOut, leader, 'n2')
    link.isBlocked = true
    fanOut.take(leader.batch(leader.command('a')))
    link.pump()
    other.settle()

    expect(other.front.held).toEqual(leader.catalog)
  })

  test('is told by a gap when the router could not keep everything for it', () => {
    link.isBlocked = true
    const body = Buffer.alloc(65_000)
    for (let n = 0; n < 1_200; n++) fanOut.take(leader.batch(leader.command(`k${n}`, { body })))
    link.settle()

    expect(fanOut.backlog.bytes).toBeLessThanOrEqual(67_108_864)
    expect(fanOut.backlog.dropped).toBeGreaterThan(100)
    expect(link.front.gaps).toBe(2)
    expect(link.front.held).toEqual(leader.catalog)
  })

  test('is cut off when something urgent had to be dropped before it took it', () => {
    link.isBlocked = true
    const urgent = { body: Buffer.alloc(65_000), isUrgent: true }
    for (let n = 0; n < 1_200; n++) fanOut.take(leader.batch(leader.command(`k${n}`, urgent)))

    expect(fanOut.isLost(link.node)).toBe(true)
    expect(fanOut.isLost(new Node('n2', 'limiter'))).toBe(false)
  })

  test('does not lose an urgent news to a newer one that is not urgent', () => {
    link.isBlocked = true
    fanOut.take(leader.batch(...Array.from({ length: 30 }, (_, n) => leader.command(`k${n}`, large))))
    fanOut.take(leader.batch(leader.command('status', { isUrgent: true })))
    fanOut.take(leader.batch(leader.command('status')))
    link.isBlocked = false
    link.pump()

    expect(batches()[0]?.commands).toMatchObject([{ key: 'status', revision: leader.revision, isUrgent: true }])
  })
})

describe('commands for some nodes', () => {
  beforeEach(() => {
    fanOut.take(leader.batch())
    link.settle()
  })

  test('a trial goes only to its nodes, ahead of the others, and covers nothing', () => {
    const other = new Link(fanOut, leader, 'n2')
    other.settle()
    fanOut.take(leader.ahead(leader.command('a', { isTrial: true, nodes: ['n1'] })))
    link.settle()
    other.settle()

    expect(link.front.got).toEqual(['a'])
    expect(other.front.got).toEqual([])
    expect([link.node.upTo, other.node.upTo]).toEqual([0, 0])
  })

  test('a trial does not supersede what is published, nor the other way round', () => {
    link.isBlocked = true
    fanOut.take(leader.batch(leader.command('a')))
    fanOut.take(leader.ahead(leader.command('a', { isTrial: true, nodes: ['n1'] })))
    link.settle()

    expect(link.front.got).toEqual(['a', 'a'])
  })

  test('calls supersede each other never', () => {
    link.isBlocked = true
    fanOut.take(leader.batch(leader.command('call:clear'), leader.command('call:clear')))
    link.settle()

    expect(link.front.got).toEqual(['call:clear', 'call:clear'])
  })
})

describe('masters', () => {
  test('a deposed one is refused, and nothing of it is sent', () => {
    fanOut.take({ ...leader.batch(), epoch: 5 })
    const answer = fanOut.take({ ...leader.batch(leader.command('a')), epoch: 4 })
    link.settle()

    expect(answer).toBe('stale')
    expect(link.front.got).toEqual([])
  })

  test('a new one makes every front look at the catalog, whatever the old one left unsent', () => {
    fanOut.take(leader.batch())
    link.settle()
    link.isBlocked = true
    fanOut.take(leader.batch(leader.command('a')))
    leader.epoch = 2
    leader.sequence = 0
    leader.upTo = 0
    fanOut.take(leader.batch(leader.command('b')))
    link.settle()

    expect(link.front.gaps).toBeGreaterThan(1)
    expect(link.front.held).toEqual(leader.catalog)
    expect(fanOut.backlog.normal.size).toBe(1)
  })

  test('a batch that did not reach the router is a gap for every front', () => {
    fanOut.take(leader.batch())
    link.settle()
    leader.batch(leader.command('lost'))
    fanOut.take(leader.batch(leader.command('b')))
    link.settle()

    expect(link.front.gaps).toBe(2)
    expect(link.front.held).toEqual(leader.catalog)
  })

  test('the same command twice is one', () => {
    fanOut.take(leader.batch())
    link.settle()
    const urgent = leader.command('a', { isUrgent: true })
    fanOut.take(leader.ahead(urgent))
    fanOut.take(leader.ahead(urgent))
    fanOut.take(leader.batch(urgent))
    link.settle()

    expect(link.front.got).toEqual(['a'])
    expect(link.node.upTo).toBe(1)
  })
})

type Step =
  | { kind: 'publish'; keys: number[]; isUrgent: boolean; isLost: boolean }
  | { kind: 'trial' }
  | { kind: 'pump' | 'deliver' | 'block' | 'unblock' | 'relink'; link: number }
  | { kind: 'newLeader' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('publish' as const),
      keys: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 4 }),
      isUrgent: fc.boolean(),
      isLost: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'trial' as const }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'pump' as const,
        'pump' as const,
        'deliver' as const,
        'deliver' as const,
        'block' as const,
        'unblock' as const,
        'relink' as const,
      ),
      link: fc.integer({ min: 0, max: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'newLeader' as const }) },
)

test('whatever is lost, blocked, relinked or superseded: every front ends with the newest of every key, urgent ones first', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const boss = new Leader()
      const router = new FanOut()
      const links = [0, 1, 2].map((n) => new Link(router, boss, `n${n}`))
      for (const one of steps) run(one, { boss, router, links })
      // The leader goes on, so that a batch that was lost last is noticed.
      router.take(boss.batch(boss.command('last')))
      for (const one of links) one.settle()

      for (const { front } of links) expect(front.held).toEqual(boss.catalog)
      for (const { node } of links) expect(router.isBehind(node)).toBe(false)
      router.prune()
      expect(router.backlog.size).toBe(0)
    }),
    { seed: 5, numRuns: 1_500 },
  )
})

function run(one: Step, { boss, router, links }: { boss: Leader; router: FanOut; links: Link[] }): void {
  if (one.kind === 'publish') {
    const commands = [...new Set(one.keys)].map((key) => boss.command(`k${key}`, { isUrgent: one.isUrgent }))
    const batch = boss.batch(...commands)
    if (!one.isLost) router.take(batch)
  } else if (one.kind === 'trial') {
    router.take(boss.ahead(boss.command('k1', { isTrial: true, nodes: ['n1'] })))
  } else if (one.kind === 'newLeader') {
    boss.epoch++
    boss.sequence = 0
    boss.upTo = 0
  } else {
    const link = links[one.link]
    if (link === undefined) return
    if (one.kind === 'pump') pumpInOrder(link, router)
    else if (one.kind === 'deliver') link.deliver()
    else if (one.kind === 'relink') links[one.link] = relink(link, router, boss)
    else link.isBlocked = one.kind === 'block'
  }
}

/** What leaves in one turn: nothing that is not urgent stands before something that is. */
function pumpInOrder(link: Link, router: FanOut): void {
  const before = link.wire.length
  link.pump()
  const commands = link.wire.slice(before).flatMap(({ body }) => decodeCommandBatch(body).commands)
  const firstNormal = commands.findIndex(({ isUrgent, isTrial }) => !isUrgent && !isTrial)
  const rest = firstNormal < 0 ? [] : commands.slice(firstNormal)
  expect(rest.filter(({ isUrgent }) => isUrgent)).toEqual([])
  router.prune()
}

/** The link is lost with what was under way; the front keeps its documents and links again. */
function relink(link: Link, router: FanOut, boss: Leader): Link {
  router.leave(link.node)
  const next = new Link(router, boss, link.node.nodeId)
  for (const [key, revision] of link.front.held) next.front.held.set(key, revision)
  return next
}
