import { encodeRecording, type Recording } from '@millrace/client/log'

/** Characters encoded before yielding to the event loop. */
const PIECE = 2 * 1024 * 1024

/** Encodes a recording as a file, in chunks that keep the page responsive. `onProgress` gets the share from 0 to 1. */
export async function recordingBlob(
  recording: Recording,
  onProgress: (share: number) => void = () => {},
): Promise<Blob> {
  const pieces: Blob[] = []
  let text = ''
  let lines = 0
  const whole = { ...recording, entries: recording.entries.slice() }
  for (const line of encodeRecording(whole)) {
    text += line
    lines++
    if (text.length < PIECE) continue
    // Separate blobs: the browser may move them out of the memory of this page.
    pieces.push(new Blob([text]))
    text = ''
    onProgress(lines / (whole.entries.length + 1))
    await new Promise(turn => setTimeout(turn))
  }
  return new Blob([...pieces, text], { type: 'application/x-ndjson' })
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
