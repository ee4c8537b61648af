import { readFile, realpath, stat } from 'node:fs/promises'
import { extname, join, resolve, sep } from 'node:path'
import { Refusal } from '../error.ts'
import type { Reply } from './reply.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.webp': 'image/webp',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
  '.txt': 'text/plain; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
}

/** A file of a folder, by the path of a request; undefined where there is none. Nothing outside of the folder is ever read, and nothing whose name begins with a dot. */
export async function fileOf(folder: string, pathname: string, request: Request): Promise<Reply | undefined> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw new Refusal('method_unknown', 'method: expected GET', { headers: { allow: 'GET' } })
  }
  let path: string
  try {
    path = decodeURIComponent(pathname)
  } catch {
    throw new Refusal('request_invalid', 'path: expected percent signs that stand for characters')
  }
  const pieces = path.split(/[/\\]/)
  if (path.includes('\0') || pieces.some(piece => piece.startsWith('.'))) return undefined
  const root = await realpath(resolve(folder))
  const file = await found(join(root, ...pieces))
  if (file === undefined) return undefined
  // A link may lead out of it.
  const real = await realpath(file.path)
  if (!real.startsWith(root + sep)) return undefined
  const etag = `"${file.size.toString(36)}-${Math.round(file.mtimeMs).toString(36)}"`
  const headers = {
    'content-type': TYPES[extname(real).toLowerCase()] ?? 'application/octet-stream',
    etag,
    'cache-control': 'no-cache',
  }
  if (request.headers.get('if-none-match') === etag) return { status: 304, headers, body: undefined }
  return { status: 200, headers, body: await readFile(real) }
}

async function found(path: string): Promise<{ path: string; size: number; mtimeMs: number } | undefined> {
  const about = await stat(path).catch(() => undefined)
  if (about?.isDirectory()) return found(join(path, 'index.html'))
  return about?.isFile() ? { path, size: about.size, mtimeMs: about.mtimeMs } : undefined
}
