/** What the machine must allow before a crowd can come from many addresses. */

import { createServer } from 'node:net'

/** An address that only a machine with all of 127.0.0.0/8 has. */
const FAR_ADDRESS = '127.16.0.1'
/** Connections, sockets of slow senders, and what Node.js holds itself. */
const FILES_NEEDED = 4_096
/** Left to others than the buyers' connections. */
const FILES_RESERVE = 1_024

/** Connections that the crowd may open, all together. */
export const SOURCE_CONNECTIONS_MAX = FILES_NEEDED - FILES_RESERVE

/** Why a crowd of many addresses cannot come here, in one line; undefined when it can. */
export async function sourcesObstacle(filesMax = openFilesMax()): Promise<string | undefined> {
  if (filesMax < FILES_NEEDED) {
    return `--profile needs ${FILES_NEEDED} open files for a process, this one may have ${filesMax}: raise it with ulimit -n ${FILES_NEEDED}`
  }
  if (await hasAddress(FAR_ADDRESS)) return undefined
  return `--profile needs all of 127.0.0.0/8, and ${FAR_ADDRESS} is not this machine's: Linux has it, on others add aliases to the loopback device`
}

/** How many files this process may have open; Node.js raises its limit to the hard one when it starts. */
function openFilesMax(): number {
  const { userLimits } = process.report.getReport() as unknown as {
    userLimits?: { open_files?: { soft: number | string } }
  }
  const soft = userLimits?.open_files?.soft
  return typeof soft === 'number' ? soft : Number.MAX_SAFE_INTEGER
}

function hasAddress(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(0, address, () => server.close(() => resolve(true)))
  })
}
