import { encodeRecording, type Recording } from '@millrace/client/log'

/** Number of characters to encode before yielding to the event loop. */
const SLICE_LENGTH = 2 * 1024 * 1024

/** Encodes a recording as a file, in chunks that keep the page responsive. `onProgress` gets the share from 0 to 1. */
export async function recordingBlob(
  recording: Recording,
  onProgress: (share: number) => void = () => {},
): Promise<Blob> {
  const blobs: Blob[] = []
  let text = ''
  let lines = 0
  const snapshot = { ...recording, entries: recording.entries.slice() }
  for (const line of encodeRecording(snapshot)) {
    text += line
    lines++
    if (text.length < SLICE_LENGTH) continue
    // Separate blobs: the browser may move them out of the memory of this page.
    blobs.push(new Blob([text]))
    text = ''
    onProgress(lines / (snapshot.entries.length + 1))
    await new Promise(turn => setTimeout(turn))
  }
  return new Blob([...blobs, text], { type: 'application/x-ndjson' })
}

/** A file name for a session that is valid on every system. */
export function fileNameOf(sessionId: string): string {
  const name = sessionId
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 80)
  return `${name || 'session'}.jsonl`
}

/** Downloads a file. */
export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The download has started before the URL is revoked.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
