import { once } from 'node:events'
import { createReadStream, statSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
}

/** Serves a folder on loopback like a static host: `/guide/log` is `guide/log.html`, and unknown paths get the 404 page. */
export async function serve(folder: string, port: number): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end()
      return
    }
    const found = find(folder, request.url ?? '/')
    const file = found ?? join(folder, '404.html')
    const type = TYPES[extname(file)] ?? 'application/octet-stream'
    response.writeHead(found === undefined ? 404 : 200, { 'content-type': type, 'x-content-type-options': 'nosniff' })
    if (request.method === 'HEAD') response.end()
    else
      createReadStream(file)
        .on('error', () => response.destroy())
        .pipe(response)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

function find(folder: string, url: string): string | undefined {
  const path = pathOf(url)
  if (path === undefined) return undefined
  const candidates = path.endsWith('/') ? [`${path}index.html`] : [path, `${path}.html`]
  return candidates.map(name => join(folder, name)).find(file => statSync(file, { throwIfNoEntry: false })?.isFile())
}

/** Decodes the path of a URL. Undefined if it is invalid or leaves the folder. */
function pathOf(url: string): string | undefined {
  try {
    const path = decodeURIComponent(url.replace(/[?#].*$/, ''))
    return path.includes('\0') ? undefined : normalize(`/${path}`)
  } catch {
    return undefined
  }
}
