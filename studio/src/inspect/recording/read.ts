import { type Recording, RecordingDecoder } from '@millrace/client/log'
import { ProtocolError } from '@millrace/protocol'

/** The largest file that is opened, in bytes: all of it is kept in memory. */
export const MOST_BYTES = 256 * 1024 * 1024

/** Why a file could not be opened, in words for people. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError'
}

/** How far the reading of a file is. */
export interface Progress {
  readonly bytes: number
  readonly size: number
  readonly entries: number
}

/** Reads a recording piece by piece; throws a `RecordingError` that names the line where it is none. */
export async function readRecording(
  file: Blob,
  { onProgress, signal }: { readonly onProgress?: (progress: Progress) => void; readonly signal?: AbortSignal } = {},
): Promise<Recording> {
  const { size } = file
  if (size > MOST_BYTES) {
    throw new RecordingError(`It has ${megabytes(size)}, and at most ${megabytes(MOST_BYTES)} can be opened here.`)
  }
  const decoder = new RecordingDecoder()
  const text = new TextDecoder('utf-8', { fatal: true })
  const reader = file.stream().getReader()
  let bytes = 0
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      signal?.throwIfAborted()
      bytes += piece.value.length
      decoder.push(text.decode(piece.value, { stream: true }))
      onProgress?.({ bytes, size, entries: decoder.entries.length })
    }
    decoder.push(text.decode())
    return decoder.end()
  } catch (error) {
    throw errorOf(error)
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function errorOf(error: unknown): unknown {
  if (error instanceof ProtocolError) {
    const { message } = error
    return new RecordingError(`${message.charAt(0).toUpperCase()}${message.slice(1)}.`)
  }
  // What the decoder of text throws.
  if (error instanceof TypeError) return new RecordingError('It is not a text file in UTF-8.')
  return error
}

export const megabytes = (bytes: number): string =>
  `${(bytes / 1024 / 1024).toLocaleString('en', { maximumFractionDigits: 1 })} MB`
