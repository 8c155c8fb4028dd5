/** A core's worth of seeds: takes a seed, answers what came of it. */

import { parentPort, workerData } from 'node:worker_threads'
import { type RunOptions, runSeed } from './simulation.ts'

parentPort?.on('message', async (seed: number) => {
  parentPort?.postMessage(await runSeed(seed, { mistakes: workerData as RunOptions['mistakes'] & object }))
})
