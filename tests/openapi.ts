/** docs/openapi.yaml as a test reads it: its operations, and whether an answer is one that it allows. */

import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { parse } from 'yaml'

type Json = Readonly<Record<string, unknown>>

/** One operation of the document. */
export interface Operation {
  readonly method: string
  /** With its parameters: `/v1/orders/{id}`. */
  readonly path: string
  readonly responses: Readonly<Record<string, Json>>
}

/** An answer as it came. */
export interface SeenAnswer {
  readonly status: number
  readonly contentType: string
  /** Parsed where it is JSON. */
  readonly body: unknown
}

const FILE = new URL('../docs/openapi.yaml', import.meta.url)
const METHODS = ['get', 'post', 'patch', 'put', 'delete']
const BASE = 'https://bigtap.invalid/openapi.json'

/** The document; throws when a schema in it is none. */
export class ApiDocument {
  readonly document: Json
  readonly operations: readonly Operation[]
  readonly #ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true })
  readonly #validators = new Map<string, ValidateFunction>()
  readonly #seen = new Set<string>()

  constructor(text: string = readFileSync(FILE, 'utf8')) {
    this.document = parse(text) as Json
    this.#ajv.addKeyword('components')
    for (const word of ['openapi', 'info', 'servers', 'tags', 'paths']) this.#ajv.addKeyword(word)
    this.#ajv.addSchema({ $id: BASE, ...this.document })
    const paths = this.document.paths as Record<string, Record<string, { responses: Record<string, Json> }>>
    this.operations = Object.entries(paths).flatMap(([path, item]) =>
      METHODS.flatMap((method) => {
        const { responses } = item[method] ?? {}
        return responses === undefined ? [] : [{ method: method.toUpperCase(), path, responses }]
      }),
    )
  }

  /** Names of all schemas; each of them compiles. */
  compileAll(): string[] {
    const { schemas } = this.document.components as { schemas: Json }
    for (const name of Object.keys(schemas)) this.#validator(`#/components/schemas/${name}`)
    return Object.keys(schemas)
  }

  /** The operation of a call, or undefined. */
  find(method: string, path: string): Operation | undefined {
    const plain = path.split('?')[0] ?? ''
    const matches = this.operations.filter((one) => one.method === method && formOf(one.path).test(plain))
    // Literal names before parameters: `rules/dry-run` is not `rules/{id}`.
    return matches.sort((a, b) => a.path.split('{').length - b.path.split('{').length)[0]
  }

  /** What the document does not allow of an answer; empty when all is well. */
  check(method: string, path: string, { status, contentType, body }: SeenAnswer): string[] {
    const operation = this.find(method, path)
    if (operation === undefined) return [`${method} ${path} is not in the document`]
    const name = `${method} ${operation.path} ${status}`
    this.#seen.add(`${method} ${operation.path}`)
    const response = this.#resolve(operation.responses[`${status}`])
    if (response === undefined) return [`${name} is not in the document`]
    const { content } = response as { content?: Record<string, { schema: { $ref?: string } }> }
    if (content === undefined) return body === undefined || body === '' ? [] : [`${name} has a body`]
    const type = contentType.split(';')[0]?.trim() ?? ''
    const schema = content[type]?.schema
    if (schema === undefined) return [`${name} has content type "${type}", not ${Object.keys(content).join(' or ')}`]
    if (schema.$ref === undefined) return []
    const bodies = type === 'application/x-ndjson' ? String(body).trim().split('\n').map(parseLine) : [body]
    return bodies.flatMap((one) => this.#errorsOf(name, schema.$ref ?? '', one))
  }

  /** Operations that no answer was checked of. */
  unseen(within: (operation: Operation) => boolean): string[] {
    const names = this.operations.filter(within).map(({ method, path }) => `${method} ${path}`)
    return names.filter((name) => !this.#seen.has(name))
  }

  #errorsOf(name: string, ref: string, body: unknown): string[] {
    const validate = this.#validator(ref)
    if (validate(body)) return []
    return (validate.errors ?? []).map(({ instancePath, message }) => `${name} ${instancePath || 'body'} ${message}`)
  }

  #validator(ref: string): ValidateFunction {
    const found = this.#validators.get(ref) ?? this.#ajv.compile({ $ref: `${BASE}${ref}` })
    this.#validators.set(ref, found)
    return found
  }

  #resolve(value: Json | undefined): Json | undefined {
    const ref = value?.$ref
    if (typeof ref !== 'string') return value
    return ref
      .split('/')
      .slice(1)
      .reduce<unknown>((at, name) => (at as Json)[name], this.document) as Json
  }
}

function formOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '[^/]+')}$`)
}

function parseLine(line: string): unknown {
  return JSON.parse(line)
}
