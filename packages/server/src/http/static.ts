import { createReadStream } from 'node:fs'
import { readFile, realpath, stat } from 'node:fs/promises'
import { extname, join, resolve, sep } from 'node:path'
import type { ChannelSettings } from './channel.ts'
import { PIECE_BYTES, pacedReply } from './paced-reply.ts'
import type { Reply } from './reply.ts'

/** A folder of files, and what is said with them. */
export interface StaticOptions {
  readonly folder: string
  /** Further headers of every file, and others in the place of the usual ones. */
  readonly headers?: Readonly<Record<string, string>>
}

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

/** What a page may do, if nothing is said: what comes from here, and in nobody's frame. */
export const PAGE_POLICY = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'"

/** What can run scripts where it is opened. */
const PAGES: readonly string[] = ['.html', '.svg']

/** Files of a folder: nothing outside of it is ever read, and nothing whose name begins with a dot. */
export class StaticFiles {
  readonly #folder: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #settings: ChannelSettings

  constructor(options: string | StaticOptions, settings: ChannelSettings) {
    this.#settings = settings
    const { folder, headers = {} } = typeof options === 'string' ? { folder: options } : options
    this.#folder = resolve(folder)
    this.#headers = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  }

  /** The file of a path; undefined where there is none. */
  async file(pathname: string, request: Request): Promise<Reply | undefined> {
    const pieces = piecesOf(pathname)
    const root = pieces && (await realpath(this.#folder).catch(() => undefined))
    if (pieces === undefined || root === undefined) return undefined
    const path = join(root, ...pieces)
    const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() ?? false
    // A link may lead out of it.
    const real = await realpath(isFolder ? join(path, 'index.html') : path).catch(() => undefined)
    const about = real?.startsWith(root + sep) ? await stat(real).catch(() => undefined) : undefined
    if (real === undefined || !about?.isFile() || isHidden(real.slice(root.length))) return undefined
    if (isFolder !== pathname.endsWith('/')) return isFolder ? moved(pieces) : undefined
    const extension = extname(real).toLowerCase()
    const etag = `"${about.size.toString(36)}-${Math.round(about.mtimeMs).toString(36)}"`
    const headers = {
      'content-type': TYPES[extension] ?? 'application/octet-stream',
      etag,
      'cache-control': 'no-cache',
      ...(PAGES.includes(extension) && { 'content-security-policy': PAGE_POLICY }),
      ...this.#headers,
    }
    if (isKnown(request, etag)) return { status: 304, headers, body: undefined }
    const { size: length } = about
    if (request.method === 'HEAD') {
      return { status: 200, headers: { ...headers, 'content-length': String(length) }, body: undefined }
    }
    if (length <= PIECE_BYTES) return { status: 200, headers, body: await readFile(real) }
    // It may have grown since.
    const read = () => createReadStream(real, { end: length - 1, highWaterMark: PIECE_BYTES })
    return pacedReply({ status: 200, headers }, { length, read }, this.#settings)
  }
}

/** The names in a path; undefined where it could lead anywhere but down, or to what is hidden. */
function piecesOf(pathname: string): readonly string[] | undefined {
  let path: string
  try {
    path = decodeURIComponent(pathname)
  } catch {
    return undefined
  }
  if (/[\0\\]/.test(path) || isHidden(path)) return undefined
  return path.split('/').filter(piece => piece !== '')
}

const isHidden = (path: string): boolean => path.split(sep).some(piece => piece.startsWith('.'))

/** A folder is asked for with a slash at its end, or the names in its page would be taken for its neighbours'; told without a host, which a path might name. */
const moved = (pieces: readonly string[]): Reply => ({
  status: 308,
  headers: { location: `./${encodeURIComponent(pieces.at(-1) ?? '')}/` },
  body: undefined,
})

/** Whether who asks has it already. */
function isKnown({ headers }: Request, etag: string): boolean {
  const known = (headers.get('if-none-match') ?? '').split(',').map(tag => tag.trim().replace(/^W\//, ''))
  return known.includes(etag) || known.includes('*')
}
