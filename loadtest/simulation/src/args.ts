/** What the command line of `npm run simulate` says. */

import { NO_MISTAKES } from './platform/site.ts'

/** Run `seeds` seeds from `seed` on, or the scale mode. */
export interface SimulateArgs {
  readonly seed: number
  readonly seeds: number
  readonly isVerbose: boolean
  readonly isScale: boolean
  /** A check that is left out on purpose. */
  readonly without: string | undefined
}

/** What is said to who asks, or errs. */
export const USAGE = `npm run simulate -- [--seeds N] [--seed S] [--verbose] [--without ${Object.keys(NO_MISTAKES).join('|')}] [--scale]`

/** Reads the arguments; an error is a text. */
export function parseArgs(args: readonly string[]): SimulateArgs | string {
  const found = { seed: 1, seeds: 0, isVerbose: false, isScale: false, without: undefined as string | undefined }
  for (let at = 0; at < args.length; at++) {
    const [name, value] = [args[at], args[at + 1]]
    if (name === '--verbose') found.isVerbose = true
    else if (name === '--scale') found.isScale = true
    else if (name === '--seed' || name === '--seeds') {
      const number = Number(value)
      if (!Number.isSafeInteger(number) || number < 1) return `${name} needs a whole number from 1, not ${value}`
      found[name === '--seed' ? 'seed' : 'seeds'] = number
      at++
    } else if (name === '--without') {
      if (value === undefined || !(value in NO_MISTAKES))
        return `--without needs one of ${Object.keys(NO_MISTAKES).join(', ')}`
      found.without = value
      at++
    } else return `what is ${name}?`
  }
  return { ...found, seeds: found.seeds === 0 ? (args.includes('--seed') ? 1 : 100) : found.seeds }
}
