// Files that clients send inside messages as data URLs, again with each request. The session stores each file once as an upload, and the log refers to it.

import type { UserPart } from '@millrace/dialects'
import { type UploadInput, uploadUrlOf } from '@millrace/runtime/internal'
import { HttpError } from '../../errors/http-error.ts'
import type { Services } from '../../routing/services.ts'
import { isFilename, isMediaType } from '../../runs/uploads.ts'

/** A part as received: its fields are not validated yet. */
interface FilePart {
  readonly type: string
  readonly url?: unknown
  readonly mediaType?: unknown
  readonly filename?: unknown
}

/** Upload URLs of parts with inline files. A cache: transcripts are compared more than once, and hashing large files is slow. */
const urls = new WeakMap<FilePart, string>()

/** The URL of a part's file in the log: the same for an inline file and its upload. */
export function urlOf(part: FilePart): unknown {
  const cached = urls.get(part)
  if (cached !== undefined) return cached
  const upload = uploadOf(part)
  if (upload === undefined) return part.url
  const url = uploadUrlOf(upload)
  urls.set(part, url)
  return url
}

/** The parts with upload URLs in place of inline files. */
export const withUrls = (parts: readonly UserPart[]): UserPart[] =>
  parts.map(part => (part.type === 'file' && urlOf(part) !== part.url ? { ...part, url: urlOf(part) as string } : part))

/** The inline files of a message. @throws `input_too_large` */
export function filesIn({ limits }: Pick<Services, 'limits'>, parts: readonly FilePart[]): readonly UploadInput[] {
  const { uploadBytes, attachedBytes } = limits
  const files = parts.flatMap(part => uploadOf(part) ?? [])
  let bytes = 0
  for (const { data } of files) {
    if (data.byteLength > uploadBytes)
      throw new HttpError('input_too_large', `input: expected files of at most ${uploadBytes} bytes`)
    bytes += data.byteLength
  }
  if (bytes > attachedBytes)
    throw new HttpError('input_too_large', `input: expected files of at most ${attachedBytes} bytes in total`)
  return files
}

/** The inline file of a part; undefined if the part only links one, or its data is unreadable. */
function uploadOf({ type, url, mediaType, filename }: FilePart): UploadInput | undefined {
  if (type !== 'file' || typeof url !== 'string' || !/^data:/i.test(url)) return undefined
  const comma = url.indexOf(',')
  const head = url.slice('data:'.length, Math.max(comma, 0))
  const data = comma < 0 ? undefined : bytesOf(url.slice(comma + 1), /;\s*base64\s*$/i.test(head))
  if (data === undefined || data.byteLength === 0) return undefined
  // The media type becomes a header when the file is downloaded.
  const types = [mediaType, head.split(';', 1)[0]?.trim()].map(value => (typeof value === 'string' ? value : ''))
  const name = typeof filename === 'string' && isFilename(filename) ? { filename } : {}
  return { data, mediaType: types.find(isMediaType)?.toLowerCase() ?? 'application/octet-stream', ...name }
}

function bytesOf(text: string, isBase64: boolean): Buffer | undefined {
  try {
    const plain = text.includes('%') ? decodeURIComponent(text) : text
    return Buffer.from(plain, isBase64 ? 'base64' : 'utf8')
  } catch {
    return undefined
  }
}
