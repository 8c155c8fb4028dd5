/** `npm run docs`: writes the pages that are made from the code: docs/machines.md and docs/SETTINGS.md. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, setUp } from './setup.mjs'

setUp()
const { machinesDocument } = await import('../packages/domain/dist/index.js')
const { describeSettings } = await import('../packages/runtime/dist/index.js')
writeFileSync(join(root, 'docs/machines.md'), machinesDocument())
writeFileSync(join(root, 'docs/SETTINGS.md'), await settingsDocument())

async function settingsDocument() {
  const sections = []
  for (const service of readdirSync(join(root, 'services'))) {
    const file = join(root, 'services', service, 'dist/config.js')
    if (!existsSync(file)) continue
    const { settings } = await import(file)
    const head = '| variable | kind | default | meaning |\n| --- | --- | --- | --- |'
    sections.push(`## ${service}\n\n${head}\n${describeSettings(settings).join('\n')}\n`)
  }
  const intro =
    'Environment variables, read once at start; all errors are reported together. A secret may also come from the file that `<VARIABLE>_FILE` names. Written by `npm run docs`.'
  return `# Settings\n\n${intro}\n\n${sections.join('\n')}`
}
