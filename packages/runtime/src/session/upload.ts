// Files that people give: bytes beside the log, kept as long as it. A message names one by its url, and the model gets the bytes.

import { createHash } from 'node:crypto'
import type { StreamManager } from '@millrace/log'
import type { Message, Part } from '@millrace/protocol'
import { MillraceError } from '../error/error.ts'
import { sessionUnknown } from './log-errors.ts'

/** A file to store. */
export interface UploadInput {
  readonly data: Uint8Array
  readonly mediaType: string
  readonly filename?: string
}

/** A stored file, with the URL by which a message refers to it. */
export interface StoredUpload {
  readonly hash: string
  /** `upload:<hash>`: what a part `{ type: 'file', mediaType, url }` of a message says. */
  readonly url: string
  readonly bytes: number
  readonly mediaType: string
  readonly filename?: string
}

/** Beside the blobs of entries, which are called by their hash alone. */
const keyOf = (hash: string): string => `upload-${hash}`

const SCHEME = 'upload:'

/** The hash that a url names, if it is an upload's; it may be none that anything was ever kept under. */
export const uploadIn = (url: string): string | undefined =>
  url.startsWith(SCHEME) ? url.slice(SCHEME.length) : undefined

/** What a message calls a file once a session keeps it. */
export function uploadUrlOf(upload: UploadInput): string {
  const hash = createHash('sha256').update(headOf(upload)).update(upload.data).digest('hex')
  return `${SCHEME}${hash}`
}

const aboutOf = ({ mediaType, filename }: UploadInput) => ({ mediaType, ...(filename !== undefined && { filename }) })

/** What a file is stands before it, on a line of its own: one blob cannot be there by half. */
const headOf = (upload: UploadInput): Buffer => Buffer.from(`${JSON.stringify(aboutOf(upload))}\n`)

/** Keeps a file with a session, under the hash of its bytes and of what it is: the same file twice is kept once. */
export async function keepUpload(
  manager: StreamManager,
  sessionId: string,
  upload: UploadInput,
): Promise<StoredUpload> {
  const { data } = upload
  const kept = Buffer.concat([headOf(upload), data])
  const hash = createHash('sha256').update(kept).digest('hex')
  await manager.store.putBlob(sessionId, keyOf(hash), kept)
  // A log that is not there keeps nothing, and says nothing of it.
  if ((await manager.getInfo(sessionId)) === null) throw sessionUnknown(sessionId)
  return { hash, url: `${SCHEME}${hash}`, bytes: data.byteLength, ...aboutOf(upload) }
}

/** A file that a session keeps; undefined where it keeps none under that hash. */
export async function readUpload(
  manager: StreamManager,
  sessionId: string,
  hash: string,
): Promise<UploadInput | undefined> {
  const kept = /^[0-9a-f]{64}$/.test(hash) ? await manager.blob(sessionId, keyOf(hash)) : undefined
  if (kept === undefined) return undefined
  const end = kept.indexOf(0x0a)
  const about = JSON.parse(Buffer.from(kept.subarray(0, end)).toString()) as Omit<UploadInput, 'data'>
  return { ...about, data: kept.subarray(end + 1) }
}

/** There is no such file in the session. */
export const uploadUnknown = (hash: string): MillraceError =>
  new MillraceError('upload_unknown', `${SCHEME}${hash.slice(0, 64)}: the session keeps no such file: upload it first`)

/** The messages with the bytes of the files that they name; throws where the session does not keep one of them. */
export async function withUploads(
  manager: StreamManager,
  sessionId: string,
  messages: readonly Message[],
): Promise<readonly Message[]> {
  const whole = async (part: Part): Promise<Part> => {
    const hash = hashOf(part)
    if (hash === undefined) return part
    const upload = await readUpload(manager, sessionId, hash)
    if (upload === undefined) throw uploadUnknown(hash)
    const { data, filename } = upload
    const url = `data:;base64,${Buffer.from(data).toString('base64')}`
    return { ...(filename !== undefined && { filename }), ...part, url } as Part
  }
  const isNaming = ({ parts }: Message) => parts.some(part => hashOf(part) !== undefined)
  if (!messages.some(isNaming)) return messages
  return Promise.all(
    messages.map(async message =>
      isNaming(message) ? { ...message, parts: await Promise.all(message.parts.map(whole)) } : message,
    ),
  )
}

const hashOf = (part: Part): string | undefined =>
  part.type === 'file' && 'url' in part ? uploadIn(part.url) : undefined
