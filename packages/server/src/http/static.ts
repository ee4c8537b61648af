import { createReadStream } from 'node:fs'
import { readFile, realpath, stat } from 'node:fs/promises'
import { extname, join, resolve, sep } from 'node:path'
import type { ChannelSettings } from './channel.ts'
import { PIECE_BYTES, pacedReply } from './paced-reply.ts'
import type { ReadyReply } from './reply.ts'

/** A folder of static files and the headers of its files. */
export interface StaticOptions {
  /** Path of the folder. */
  readonly folder: string
  /** Headers for every file. They override the defaults. @default {} */
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

/** Default `Content-Security-Policy` of pages: only resources of this server, and no embedding in frames. */
export const PAGE_POLICY = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'"

/** Extensions of files that can run scripts when opened. */
const SCRIPTABLE_EXTENSIONS: readonly string[] = ['.html', '.svg']

/** Serves the files of a folder. Never reads outside the folder, nor files whose name starts with a dot. */
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

  /** The reply with the file of a path; undefined if there is no such file. */
  async file(pathname: string, request: Request): Promise<ReadyReply | undefined> {
    const segments = segmentsOf(pathname)
    const root = segments && (await realpath(this.#folder).catch(() => undefined))
    if (segments === undefined || root === undefined) return undefined
    const path = join(root, ...segments)
    const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() ?? false
    // A symbolic link may point outside the folder.
    const realPath = await realpath(isFolder ? join(path, 'index.html') : path).catch(() => undefined)
    const stats = realPath?.startsWith(root + sep) ? await stat(realPath).catch(() => undefined) : undefined
    if (realPath === undefined || !stats?.isFile() || isHidden(realPath.slice(root.length))) return undefined
    if (isFolder !== pathname.endsWith('/')) return isFolder ? redirectToFolder(segments) : undefined
    const extension = extname(realPath).toLowerCase()
    const etag = `"${stats.size.toString(36)}-${Math.round(stats.mtimeMs).toString(36)}"`
    const headers = {
      'content-type': TYPES[extension] ?? 'application/octet-stream',
      etag,
      'cache-control': 'no-cache',
      ...(SCRIPTABLE_EXTENSIONS.includes(extension) && { 'content-security-policy': PAGE_POLICY }),
      ...this.#headers,
    }
    if (hasEtag(request, etag)) return { status: 304, headers, body: undefined }
    const { size: length } = stats
    if (request.method === 'HEAD') {
      return { status: 200, headers: { ...headers, 'content-length': String(length) }, body: undefined }
    }
    if (length <= PIECE_BYTES) return { status: 200, headers, body: await readFile(realPath) }
    // The file may have grown since `stat`.
    const read = () => createReadStream(realPath, { end: length - 1, highWaterMark: PIECE_BYTES })
    return pacedReply({ status: 200, headers }, { length, read }, this.#settings)
  }
}

/** The segments of a path; undefined if the path leaves the folder or has hidden segments. */
function segmentsOf(pathname: string): readonly string[] | undefined {
  let path: string
  try {
    path = decodeURIComponent(pathname)
  } catch {
    return undefined
  }
  if (/[\0\\]/.test(path) || isHidden(path)) return undefined
  return path.split('/').filter(segment => segment !== '')
}

const isHidden = (path: string): boolean => path.split(sep).some(segment => segment.startsWith('.'))

/** Redirects to the folder with a slash at the end: otherwise relative links in its page break. The location is relative, so that a path can never name a host. */
const redirectToFolder = (segments: readonly string[]): ReadyReply => ({
  status: 308,
  headers: { location: `./${encodeURIComponent(segments.at(-1) ?? '')}/` },
  body: undefined,
})

/** Whether the client already has this version. */
function hasEtag({ headers }: Request, etag: string): boolean {
  const etags = (headers.get('if-none-match') ?? '').split(',').map(tag => tag.trim().replace(/^W\//, ''))
  return etags.includes(etag) || etags.includes('*')
}
