/** What is to happen, in order of its time; what has the same time keeps the order in which it was scheduled. */

/** Something that will happen. A cancelled one is passed over. */
export interface SimEvent {
  readonly at: number
  readonly order: number
  readonly run: () => void
  isCancelled: boolean
}

/** A binary heap of events. */
export class EventQueue {
  readonly #heap: SimEvent[] = []
  #order = 0

  get size(): number {
    return this.#heap.length
  }

  add(at: number, run: () => void): SimEvent {
    const event = { at, order: this.#order++, run, isCancelled: false }
    const heap = this.#heap
    let place = heap.length
    heap.push(event)
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (isBefore(heap[parent] as SimEvent, event)) break
      heap[place] = heap[parent] as SimEvent
      place = parent
    }
    heap[place] = event
    return event
  }

  /** The next event that was not cancelled, if it is due by `until`. */
  take(until: number): SimEvent | undefined {
    for (;;) {
      const first = this.#heap[0]
      if (first === undefined || first.at > until) return undefined
      this.#removeFirst()
      if (!first.isCancelled) return first
    }
  }

  #removeFirst(): void {
    const heap = this.#heap
    const last = heap.pop() as SimEvent
    if (heap.length === 0) return
    let place = 0
    for (;;) {
      let child = place * 2 + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1] as SimEvent, heap[child] as SimEvent)) child++
      if (isBefore(last, heap[child] as SimEvent)) break
      heap[place] = heap[child] as SimEvent
      place = child
    }
    heap[place] = last
  }
}

function isBefore(a: SimEvent, b: SimEvent): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
