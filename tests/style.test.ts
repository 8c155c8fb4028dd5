/** Style that a formatter cannot see (docs/STYLE.md). */

import { describe, expect, test } from 'vitest'
import { readTree, type SourceFile } from './tree.ts'

const files = readTree()
const sources = files.filter(({ path }) => !path.endsWith('.test.ts'))
const FILES_MIN = 100
const EXPORTS_MIN = 300
const LINES_MAX = 400

interface Export {
  readonly path: string
  readonly line: number
  readonly name: string
  readonly hasDoc: boolean
}

function exportsOf({ path, text }: SourceFile): Export[] {
  const lines = text.split('\n')
  return lines.flatMap((line, index) => {
    const match =
      /^export (?:declare )?(?:async )?(?:function\*?|const|class|interface|type|abstract class) (\w+)/.exec(line)
    if (!match) return []
    const before = (lines[index - 1] ?? '').trim()
    // The second of two overloads, or a type beside its parser of the same name, stands under the same comment.
    const isTwin = lines.slice(0, index).some((other) => new RegExp(`^export .*\\b${match[1]}\\b`).test(other))
    return [{ path, line: index + 1, name: match[1] ?? '', hasDoc: before.endsWith('*/') || isTwin }]
  })
}

describe('style', () => {
  test(`sees the files (at least ${FILES_MIN})`, () => {
    expect(sources.length).toBeGreaterThanOrEqual(FILES_MIN)
  })

  test('every export has a doc comment', () => {
    const all = sources.flatMap(exportsOf)
    expect(all.length).toBeGreaterThanOrEqual(EXPORTS_MIN)
    expect(all.filter(({ hasDoc }) => !hasDoc).map(({ path, line, name }) => `${path}:${line} ${name}`)).toEqual([])
  })

  test('a file without a doc comment on its export is found', () => {
    expect(exportsOf({ path: 'a.ts', text: 'export const a = 1\n', imports: [], valueImports: [] })[0]?.hasDoc).toBe(
      false,
    )
  })

  test('file names are kebab-case and say what is inside', () => {
    const bad = files.filter(({ path }) => {
      const name = path.split('/').at(-1) ?? ''
      return (
        !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9-]+)*\.ts$/.test(name) ||
        /^(utils?|common|shared|helpers?|misc)\./.test(name)
      )
    })
    expect(bad.map(({ path }) => path)).toEqual([])
  })

  test(`no file is longer than ${LINES_MAX} lines`, () => {
    expect(sources.filter(({ text }) => text.split('\n').length > LINES_MAX).map(({ path }) => path)).toEqual([])
  })

  test('nothing is left half done', () => {
    const marks = files.flatMap(({ path, text }) =>
      text
        .split('\n')
        .flatMap((line, index) =>
          /\b(TODO|FIXME|XXX)\b|\.only\(|@ts-(ignore|nocheck)/.test(line) ? [`${path}:${index + 1}`] : [],
        ),
    )
    expect(marks).toEqual([])
  })
})
