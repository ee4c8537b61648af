// Uploaded files. They are stored next to the log and live as long as it. A message refers to a file by URL, and the
// model gets its bytes.

import { createHash } from 'node:crypto'
import type { BlobUsage, StreamManager } from '@millrace/log'
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
  /** `upload:<hash>`, for a part `{ type: 'file', mediaType, url }` of a message. */
  readonly url: string
  readonly bytes: number
  readonly mediaType: string
  readonly filename?: string
}

/** The prefix separates uploads from the blobs of entries, whose key is the hash alone. */
const blobKeyOf = (hash: string): string => `upload-${hash}`

const SCHEME = 'upload:'

/** The hash in the URL of an upload; undefined for other URLs. The session may not have the file. */
export const uploadHashOf = (url: string): string | undefined =>
  url.startsWith(SCHEME) ? url.slice(SCHEME.length) : undefined

/** The URL of a file after it is uploaded. */
export function uploadUrlOf(upload: UploadInput): string {
  const hash = createHash('sha256').update(headerOf(upload)).update(upload.data).digest('hex')
  return `${SCHEME}${hash}`
}

const descriptionOf = ({ mediaType, filename }: UploadInput) => ({
  mediaType,
  ...(filename !== undefined && { filename }),
})

/** The description is stored in the same blob, as the first line, so that both are stored or neither. */
const headerOf = (upload: UploadInput): Buffer => Buffer.from(`${JSON.stringify(descriptionOf(upload))}\n`)

/** Stores a file in a session, keyed by the hash of its bytes and description: the same file is stored once. */
export async function storeUpload(
  manager: StreamManager,
  sessionId: string,
  upload: UploadInput,
): Promise<StoredUpload> {
  const { data } = upload
  const blob = Buffer.concat([headerOf(upload), data])
  const hash = createHash('sha256').update(blob).digest('hex')
  await manager.store.putBlob(sessionId, blobKeyOf(hash), blob)
  // Storing a blob of a missing log fails silently.
  if ((await manager.getInfo(sessionId)) === null) throw sessionUnknown(sessionId)
  return { hash, url: `${SCHEME}${hash}`, bytes: data.byteLength, ...descriptionOf(upload) }
}

/** What is measured: one file, all files of a session, or all files in the sessions of an owner. */
export type UploadScope = { readonly streamId: string; readonly hash?: string } | { readonly principal: string | null }

/**
 * Number and total size of stored files, with their descriptions. Undefined if the store cannot measure blobs. Reads no
 * file.
 */
export async function uploadUsage({ store }: StreamManager, scope: UploadScope): Promise<BlobUsage | undefined> {
  if (!('streamId' in scope)) return store.blobUsage?.(scope, blobKeyOf(''))
  const { streamId, hash = '' } = scope
  return store.blobUsage?.({ streamId }, blobKeyOf(hash))
}

/** Reads a file of a session; undefined if the session has none with that hash. */
export async function readUpload(
  manager: StreamManager,
  sessionId: string,
  hash: string,
): Promise<UploadInput | undefined> {
  const blob = /^[0-9a-f]{64}$/.test(hash) ? await manager.blob(sessionId, blobKeyOf(hash)) : undefined
  if (blob === undefined) return undefined
  const end = blob.indexOf(0x0a)
  const description = JSON.parse(Buffer.from(blob.subarray(0, end)).toString()) as Omit<UploadInput, 'data'>
  return { ...description, data: blob.subarray(end + 1) }
}

/** The error for a file that the session does not have. */
export const uploadUnknown = (hash: string): MillraceError =>
  new MillraceError('upload_unknown', `${SCHEME}${hash.slice(0, 64)}: the session has no such file: upload it first`)

/**
 * Replaces the URLs of uploads in messages by their bytes. @throws {MillraceError} if the session does not have a file.
 */
export async function withUploads(
  manager: StreamManager,
  sessionId: string,
  messages: readonly Message[],
): Promise<readonly Message[]> {
  const withBytes = async (part: Part): Promise<Part> => {
    const hash = hashOf(part)
    if (hash === undefined) return part
    const upload = await readUpload(manager, sessionId, hash)
    if (upload === undefined) throw uploadUnknown(hash)
    const { data, filename } = upload
    const url = `data:;base64,${Buffer.from(data).toString('base64')}`
    return { ...(filename !== undefined && { filename }), ...part, url } as Part
  }
  const hasUpload = ({ parts }: Message) => parts.some(part => hashOf(part) !== undefined)
  if (!messages.some(hasUpload)) return messages
  return Promise.all(
    messages.map(async message =>
      hasUpload(message) ? { ...message, parts: await Promise.all(message.parts.map(withBytes)) } : message,
    ),
  )
}

const hashOf = (part: Part): string | undefined =>
  part.type === 'file' && 'url' in part ? uploadHashOf(part.url) : undefined
