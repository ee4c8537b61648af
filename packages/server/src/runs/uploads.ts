import { type UploadInput, uploadHashOf, uploadUnknown, uploadUrlOf } from '@millrace/runtime/internal'
import { HttpError } from '../errors/http-error.ts'
import type { Services } from '../routing/services.ts'
import type { SessionIdentity } from '../sessions/session-access.ts'
import type { RunMessage } from './run-input.ts'

const MEDIA_TYPE = /^[\w.+-]{1,64}\/[\w.+-]{1,64}$/

/** Maximum length of a filename, in characters. */
export const MAX_FILENAME_LENGTH = 255

/** Stores a file in a session of an owner, within the quota. @throws `uploads_limit` */
export function storeUpload(
  { runtime, uploads }: Services,
  owner: string | null,
  { streamId }: Pick<SessionIdentity, 'streamId'>,
  upload: UploadInput,
): ReturnType<Services['runtime']['upload']> {
  const hash = uploadHashOf(uploadUrlOf(upload)) as string
  return uploads.store(owner, streamId, hash, upload.data.byteLength, () => runtime.upload(streamId, upload))
}

/** Checks the files of an input. @throws `upload_unknown` for files that are not uploaded, `input_too_large` if they exceed the total limit */
export async function assertUploaded(
  services: Services,
  { streamId }: SessionIdentity,
  input: RunMessage | undefined,
): Promise<void> {
  if (input === undefined || typeof input === 'string') return
  const { attachedBytes } = services.limits
  // Parts are validated when they are appended, so a `url` can still be any value here.
  const urls = input.parts.flatMap(part => (part.type === 'file' && typeof part.url === 'string' ? [part.url] : []))
  const hashes = new Set(urls.flatMap(url => uploadHashOf(url) ?? []))
  let bytes = 0
  for (const hash of hashes) {
    const upload = await services.runtime.uploaded(streamId, hash)
    if (upload === undefined) throw uploadUnknown(hash)
    bytes += upload.data.byteLength
    if (bytes > attachedBytes) {
      throw new HttpError('input_too_large', `input: expected files of at most ${attachedBytes} bytes in total`)
    }
  }
}

/** Whether a text is a valid media type. */
export const isMediaType = (type: string): boolean => MEDIA_TYPE.test(type)

/** Whether a text is a valid filename. */
export const isFilename = (name: string): boolean =>
  name !== '' && name.length <= MAX_FILENAME_LENGTH && !/[\p{Cc}/\\]/u.test(name) && name !== '.' && name !== '..'
