import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type LedgerFact, type StockCommand, StockKeeper, type WarehouseFact } from './stock-keeper.ts'

/** A warehouse and a ledger of one SKU, as the adapters would drive them. */
class World {
  row: WarehouseFact | undefined
  ledger: LedgerFact
  keeper = new StockKeeper()
  shortBy = 0
  now = 0
  readonly #requests = new Set<string>()

  constructor(stock: number) {
    const name = { activityId: 7, skuId: 3 }
    this.ledger = { ...name, stock, free: stock, held: 0, sold: 0, given: 0, overbook: 1 }
  }

  warehouse(change: number): void {
    if (this.row === undefined) return
    const units = Math.max(0, this.row.units + change)
    if (units !== this.row.units) this.row = { ...this.row, units, version: this.row.version + 1 }
  }

  operator(change: number): void {
    const { stock, free } = this.ledger
    if (free + change >= 0) this.ledger = { ...this.ledger, stock: stock + change, free: free + change }
  }

  hold(units: number): void {
    const taken = Math.min(units, this.ledger.free)
    const { free, held, given } = this.ledger
    this.ledger = { ...this.ledger, free: free - taken, held: held + taken, given: given + taken }
  }

  expire(): void {
    const { free, held, given } = this.ledger
    this.ledger = { ...this.ledger, free: free + held, held: 0, given: given - held }
  }

  round(fate: 'well' | 'answer lost' = 'well'): StockCommand[] {
    this.now += 250
    const rows = this.row === undefined ? [] : [this.row]
    const commands = this.keeper.tick(this.now, { rows, ledgers: [this.ledger] })
    this.shortBy = 0
    for (const command of commands) this.#obey(command, fate)
    return commands
  }

  settle(): void {
    for (let rounds = 0; rounds < 12; rounds++) this.round()
  }

  #obey(command: StockCommand, fate: 'well' | 'answer lost'): void {
    if (command.type === 'short') this.shortBy = command.units
    else if (command.type === 'restock') {
      const isRepeated = this.#requests.has(command.requestId)
      const { op, units } = command
      const { stock, free } = this.ledger
      const target = op === 'set' ? units : op === 'add' ? stock + units : stock - units
      const isRefused = free + target - stock < 0
      if (!isRepeated && !isRefused) {
        this.#requests.add(command.requestId)
        this.ledger = { ...this.ledger, stock: target, free: free + target - stock }
      }
      const outcome = isRepeated ? 'repeated' : isRefused ? 'refused' : 'done'
      this.keeper.onRestocked(command, fate === 'well' ? outcome : undefined)
    } else {
      const { report } = command
      if (this.row === undefined && report.version === 0 && report.units !== undefined)
        this.row = { activityId: 7, skuId: 3, units: report.units, version: 1 }
      else if (this.row?.version === report.version && report.units !== undefined && report.units !== this.row.units)
        this.row = { ...this.row, units: report.units, version: report.version + 1 }
      this.keeper.onReported(report, fate === 'well' ? this.row : undefined)
    }
  }
}

function entered(stock: number): World {
  const world = new World(stock)
  world.settle()
  return world
}

describe('the warehouse and the ledger', () => {
  test('a SKU is entered at the warehouse with its stock', () => {
    expect(entered(10).row).toMatchObject({ units: 10, version: 1 })
  })

  test('units that the warehouse adds to a sold-out SKU can be bought after one round', () => {
    const world = entered(10)
    world.hold(10)
    world.warehouse(+5)
    world.round()
    expect(world.ledger).toMatchObject({ stock: 15, free: 5, held: 10 })
  })

  test("an operator's change goes to the warehouse", () => {
    const world = entered(10)
    world.operator(+7)
    world.round()
    expect(world.row).toMatchObject({ units: 17, version: 2 })
  })

  test('when both change at once neither change is lost', () => {
    const world = entered(10)
    world.operator(+7)
    world.warehouse(+100)
    world.settle()
    expect([world.ledger.stock, world.row?.units]).toEqual([117, 117])
  })

  test('when both change by the same number, and so are equal by chance, both changes count', () => {
    const world = entered(10)
    world.operator(+3)
    world.warehouse(+3)
    world.settle()
    expect([world.ledger.stock, world.row?.units]).toEqual([16, 16])
  })

  test('a restock that was done and not answered is not done again', () => {
    const world = entered(10)
    world.warehouse(+3)
    world.round('answer lost')
    world.settle()
    expect([world.ledger.stock, world.row?.units]).toEqual([13, 13])
  })

  test('the stock never goes below what is held, and follows when it comes back', () => {
    const world = entered(10)
    world.hold(8)
    world.warehouse(-9)
    world.round()
    expect(world.ledger).toMatchObject({ stock: 8, free: 0, held: 8 })
    expect(world.shortBy).toBe(7)
    world.expire()
    world.settle()
    expect([world.ledger.stock, world.row?.units, world.shortBy]).toEqual([1, 1, 0])
  })

  test('a new leader obeys what nobody obeyed, and takes nothing back from an operator', () => {
    const world = entered(10)
    world.warehouse(+5)
    world.settle()
    world.operator(+2)
    world.keeper = new StockKeeper()
    world.settle()
    expect([world.ledger.stock, world.row?.units]).toEqual([17, 17])
    world.warehouse(+5)
    world.keeper = new StockKeeper()
    world.settle()
    expect([world.ledger.stock, world.row?.units]).toEqual([22, 22])
  })

  test('what was sold is reported at most once a second, and not again when nothing changed', () => {
    const world = entered(10)
    const reports = () => world.round().filter(({ type }) => type === 'report').length
    world.hold(1)
    const counts = [reports(), reports(), reports(), reports(), reports(), reports()]
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1)
    world.hold(1)
    world.now += 1_000
    expect(reports()).toBe(1)
    world.now += 1_000
    expect(reports()).toBe(0)
  })
})

type Step = { type: 'warehouse' | 'operator' | 'hold' | 'expire' | 'round' | 'lost' | 'leader'; by: number }
const steps = (types: Step['type'][]) =>
  fc.array(fc.record({ type: fc.constantFrom(...types), by: fc.integer({ min: -20, max: 40 }) }), { maxLength: 40 })

function walk(world: World, { type, by }: Step): void {
  if (type === 'warehouse') world.warehouse(by)
  else if (type === 'operator') world.operator(by)
  else if (type === 'hold') world.hold(Math.abs(by))
  else if (type === 'expire') world.expire()
  else if (type === 'leader') world.keeper = new StockKeeper()
  else world.round(type === 'lost' ? 'answer lost' : 'well')
}

describe('whatever happens', () => {
  test('no unit that is held goes, and when all is quiet both sides are the same', () => {
    const all: Step['type'][] = ['warehouse', 'operator', 'hold', 'expire', 'round', 'round', 'lost', 'leader']
    fc.assert(
      fc.property(steps(all), (walked) => {
        const world = entered(10)
        for (const step of walked) {
          walk(world, step)
          expect(world.ledger.free).toBeGreaterThanOrEqual(0)
          expect(world.ledger.free + world.ledger.held).toBe(world.ledger.stock)
        }
        world.expire()
        world.settle()
        expect(world.row?.units).toBe(world.ledger.stock)
      }),
      { numRuns: 300 },
    )
  })

  test('with one leader and answers that arrive, every change of both sides counts exactly once', () => {
    fc.assert(
      fc.property(steps(['warehouse', 'operator', 'hold', 'expire', 'round']), (walked) => {
        const world = entered(1_000)
        let sum = 1_000
        for (const step of walked) {
          if (step.type === 'warehouse' || step.type === 'operator') sum += Math.abs(step.by)
          walk(world, { ...step, by: Math.abs(step.by) })
        }
        world.settle()
        expect([world.ledger.stock, world.row?.units]).toEqual([sum, sum])
      }),
      { numRuns: 300 },
    )
  })
})
