/** Serves the storefront's few files from memory, with the headers that a page which sells should have. */

import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { refuse } from './front-proxy.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const SECURITY = {
  'content-security-policy': "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** Reads the folder once; answers GET and HEAD for what is in it, `/` with its index.html, 404 for all else. */
export function createStaticFiles(folder: string): (request: IncomingMessage, response: ServerResponse) => void {
  const files = new Map(readdirSync(folder).map((name) => [`/${name}`, readFileSync(join(folder, name))]))
  return (request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/'
    const name = path === '/' ? '/index.html' : path
    const body = files.get(name)
    if (!body) return refuse(response, 404, 'not_found')
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, 405, 'method_not_allowed')
    const type = TYPES[extname(name)] ?? 'application/octet-stream'
    response.writeHead(200, {
      'content-type': type,
      'content-length': body.length,
      'cache-control': 'max-age=60',
      ...SECURITY,
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  }
}
