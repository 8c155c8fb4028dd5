/** Writes docs/machines.md from the tables of the built package: `node packages/domain/scripts/print-machines.mjs`. */
import { writeFileSync } from 'node:fs'
import { machinesDocument } from '../dist/index.js'

writeFileSync(new URL('../../../docs/machines.md', import.meta.url), machinesDocument())
