/** Shows how the sale goes: one line that is redrawn on a terminal, plain lines elsewhere. */

import type { CrowdProgress } from '@bigtap/crowd/messages'

/** Where to write, and whether it can redraw. */
export interface Screen {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** Prints steps and progress. */
export interface Display {
  step(text: string): void
  progress(crowd: CrowdProgress, secondsOpen: number): void
}

/** Makes a display for a screen. */
export function createDisplay(screen: Screen): Display {
  let isLineOpen = false
  const close = () => {
    if (isLineOpen) screen.write('\n')
    isLineOpen = false
  }
  return {
    step: (text) => {
      close()
      screen.write(`${text}\n`)
    },
    progress: (crowd, secondsOpen) => {
      const line = progressLine(crowd, secondsOpen)
      if (screen.isTTY) screen.write(`\r\x1b[2K${line}`)
      else screen.write(`${line}\n`)
      isLineOpen = screen.isTTY === true
    },
  }
}

/** One line: the time since the opening, the asks and how they were answered, the orders and the payments. */
export function progressLine(crowd: CrowdProgress, secondsOpen: number): string {
  const { granted, queued, soldOut, refused, rateLimited, blocked, overloaded, error } = crowd.answers
  const clock = `${secondsOpen < 0 ? '-' : '+'}${Math.abs(secondsOpen).toFixed(0).padStart(2, '0')}s`
  const asks = `asks ${crowd.asks}: granted ${granted}, queued ${queued}, sold out ${soldOut}, refused ${refused}`
  const shed = `limited ${rateLimited}, blocked ${blocked}, overloaded ${overloaded}, errors ${error}`
  return `  ${clock}  ${asks}, ${shed} | orders ${crowd.orders}, paid ${crowd.paid} | done ${crowd.finished}/${crowd.buyers}`
}
