import { uploadHashOf, uploadUnknown } from '@millrace/runtime/internal'
import { Refusal } from '../errors/refusal.ts'
import type { Services } from '../routing/services.ts'
import type { RunMessage } from './run-input.ts'

const MEDIA_TYPE = /^[\w.+-]{1,64}\/[\w.+-]{1,64}$/

/** Maximum length of a filename, in characters. */
export const LONGEST_FILENAME = 255

/** Throws where an input names files that the session does not keep, or more of them than a model may be sent at once. */
export async function assertUploaded(
  services: Services,
  sessionId: string,
  input: RunMessage | undefined,
): Promise<void> {
  if (input === undefined || typeof input === 'string') return
  const { attachedBytes } = services.limits
  // What parts are made of is checked where they are appended: here a url may still be anything.
  const urls = input.parts.flatMap(part => (part.type === 'file' && typeof part.url === 'string' ? [part.url] : []))
  const hashes = new Set(urls.flatMap(url => uploadHashOf(url) ?? []))
  let bytes = 0
  for (const hash of hashes) {
    const upload = await services.runtime.uploaded(sessionId, hash)
    if (upload === undefined) throw uploadUnknown(hash)
    bytes += upload.data.byteLength
    if (bytes > attachedBytes) {
      throw new Refusal('input_too_large', `input: expected files of at most ${attachedBytes} bytes together`)
    }
  }
}

/** Whether a file can be said to be that. */
export const isMediaType = (type: string): boolean => MEDIA_TYPE.test(type)

/** Whether a file can be called so. */
export const isFilename = (name: string): boolean =>
  name !== '' && name.length <= LONGEST_FILENAME && !/[\p{Cc}/\\]/u.test(name) && name !== '.' && name !== '..'
