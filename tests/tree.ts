/** The source tree as the architecture and style tests see it. */

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** One source file: its path from the root with `/`, its text, and what it imports. */
export interface SourceFile {
  readonly path: string
  readonly text: string
  readonly imports: readonly string[]
  /** Those of them that are there at run time: not `import type`. */
  readonly valueImports: readonly string[]
}

/** The root of the repository. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const GROUPS = ['packages', 'services', 'deploy', 'loadtest']
const LEFT_OUT = new Set(['node_modules', 'dist', 'generated', 'gen', 'public', '.cache'])
const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s(?:[^'"\n]|\n(?!\s*(?:import|export)\s))*?from\s+['"]([^'"]+)['"]|(?:^|\n)\s*import\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/g

/** Reads every TypeScript file of the workspace, tests included. */
export function readTree(): SourceFile[] {
  return GROUPS.flatMap((group) => walk(join(root, group))).map((path) => {
    const text = readFileSync(path, 'utf8')
    return {
      path: relative(root, path).split('\\').join('/'),
      text,
      imports: importsOf(text),
      valueImports: valueImportsOf(text),
    }
  })
}

/** The module names that a text imports, statically or dynamically. */
export function importsOf(text: string): string[] {
  return [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
}

/** The module names that a text still imports when its types are erased. */
export function valueImportsOf(text: string): string[] {
  return importsOf(text.replaceAll(/(^|\n)\s*(import|export) type\s/g, '$1type '))
}

function walk(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (LEFT_OUT.has(entry.name)) return []
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return walk(path)
    return entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts') ? [path] : []
  })
}
