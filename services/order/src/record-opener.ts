import type { Logger } from '@bigtap/kernel'

/** What has to succeed once, tried again for as long as it takes. */
export interface OpenerParts {
  readonly open: () => Promise<void>
  readonly logger: Logger
}

const RETRY_MS = 500

/**
 * Opens the record of the sale in the background: the service starts, and answers from the ledger, while PostgreSQL is
 * away. Nothing is read from the event log before it is open, for a table that is missing would refuse every row.
 */
export function createOpener({ open, logger }: OpenerParts) {
  let state: 'idle' | 'opening' | 'open' | 'stopped' = 'idle'
  let timer: NodeJS.Timeout | undefined
  let current: Promise<void> = Promise.resolve()
  const attempt = async (): Promise<void> => {
    try {
      await open()
      if (state === 'opening') state = 'open'
    } catch (error) {
      logger.warn({ error }, 'the database could not be opened and is tried again')
      if (state === 'opening') timer = setTimeout(begin, RETRY_MS)
    }
  }
  const begin = (): void => {
    current = attempt()
  }
  return {
    name: 'database',
    start: () => {
      state = 'opening'
      begin()
    },
    stop: async () => {
      state = 'stopped'
      clearTimeout(timer)
      await current
    },
    ready: () => state === 'open',
  }
}
