import { type Recording, RecordingDecoder } from '@millrace/client/log'
import { ProtocolError } from '@millrace/protocol'

/** Maximum file size in bytes. The entire file is held in memory. */
export const MAX_BYTES = 256 * 1024 * 1024

/** A file could not be opened. Its message is shown to the user. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError'
}

/** Progress of reading a file. */
export interface Progress {
  readonly bytes: number
  readonly size: number
  readonly entries: number
}

/** Reads a recording in chunks. @throws RecordingError with the line number of the first invalid line */
export async function readRecording(
  file: Blob,
  { onProgress, signal }: { readonly onProgress?: (progress: Progress) => void; readonly signal?: AbortSignal } = {},
): Promise<Recording> {
  const { size } = file
  if (size > MAX_BYTES) {
    throw new RecordingError(`Expected at most ${megabytes(MAX_BYTES)}, found ${megabytes(size)}.`)
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
  // Thrown by TextDecoder.
  if (error instanceof TypeError) return new RecordingError('Expected a text file in UTF-8.')
  return error
}

export const megabytes = (bytes: number): string =>
  `${(bytes / 1024 / 1024).toLocaleString('en', { maximumFractionDigits: 1 })} MB`
