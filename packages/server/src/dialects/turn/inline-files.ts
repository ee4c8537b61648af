// Files that clients of other systems send within what they say, as data URLs, and again with every request that follows. A session keeps each as an upload, once, and its log names it.

import type { UserPart } from '@millrace/dialects'
import { type UploadInput, uploadUrlOf } from '@millrace/runtime/internal'
import { Refusal } from '../../errors/refusal.ts'
import type { Services } from '../../routing/services.ts'
import { isFilename, isMediaType } from '../../runs/uploads.ts'

/** A part as it comes: its fields may still be anything. */
interface FilePart {
  readonly type: string
  readonly url?: unknown
  readonly mediaType?: unknown
  readonly filename?: unknown
}

/** What parts that hold files themselves are called: a transcript is looked at more than once, and its files may be large. */
const urls = new WeakMap<FilePart, string>()

/** How the log names the file of a part: the same for the file itself and for its upload. */
export function urlOf(part: FilePart): unknown {
  const known = urls.get(part)
  if (known !== undefined) return known
  const upload = uploadOf(part)
  if (upload === undefined) return part.url
  const url = uploadUrlOf(upload)
  urls.set(part, url)
  return url
}

/** What a person says, with the names of its files in their places. */
export const withUrls = (parts: readonly UserPart[]): UserPart[] =>
  parts.map(part => (part.type === 'file' && urlOf(part) !== part.url ? { ...part, url: urlOf(part) as string } : part))

/** The files that are within what a person says; throws where they are larger than the server takes. */
export function filesIn({ limits }: Pick<Services, 'limits'>, parts: readonly FilePart[]): readonly UploadInput[] {
  const { uploadBytes, attachedBytes } = limits
  const files = parts.flatMap(part => uploadOf(part) ?? [])
  let bytes = 0
  for (const { data } of files) {
    if (data.byteLength > uploadBytes)
      throw new Refusal('input_too_large', `input: expected files of at most ${uploadBytes} bytes`)
    bytes += data.byteLength
  }
  if (bytes > attachedBytes)
    throw new Refusal('input_too_large', `input: expected files of at most ${attachedBytes} bytes together`)
  return files
}

/** The file that a part holds itself; undefined where it only names one, or holds nothing that can be read. */
function uploadOf({ type, url, mediaType, filename }: FilePart): UploadInput | undefined {
  if (type !== 'file' || typeof url !== 'string' || !/^data:/i.test(url)) return undefined
  const comma = url.indexOf(',')
  const head = url.slice('data:'.length, Math.max(comma, 0))
  const data = comma < 0 ? undefined : bytesOf(url.slice(comma + 1), /;\s*base64\s*$/i.test(head))
  if (data === undefined || data.byteLength === 0) return undefined
  // What is said of it goes into a header once it is asked for.
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
