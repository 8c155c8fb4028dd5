import type { Logger } from '@bigtap/kernel'

/** Calls a check again and again; one that fails is logged and comes again with the next round. */
export class Verifier {
  readonly #everyMs: number
  readonly #check: () => Promise<void>
  readonly #logger: Logger
  #timer: NodeJS.Timeout | undefined

  constructor(everyMs: number, check: () => Promise<void>, logger: Logger) {
    this.#everyMs = everyMs
    this.#check = check
    this.#logger = logger
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#check().catch((error: unknown) => this.#logger.debug({ error }, 'ledgers could not be verified'))
    }, this.#everyMs)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
