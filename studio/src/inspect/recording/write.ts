import { encodeRecording, type Recording } from '@millrace/client/log'

/** How many characters are gathered before the page gets a turn. */
const PIECE = 2 * 1024 * 1024

/** A recording as a file, made piece by piece, so that a page stays awake; `onProgress` is told the share that is done. */
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
    // A blob of its own: the browser may keep it elsewhere than in this page's memory.
    pieces.push(new Blob([text]))
    text = ''
    onProgress(lines / (whole.entries.length + 1))
    await new Promise(turn => setTimeout(turn))
  }
  return new Blob([...pieces, text], { type: 'application/x-ndjson' })
}

/** What a file of a session is called: no more of its name than any system takes. */
export function fileNameOf(sessionId: string): string {
  const name = sessionId
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 80)
  return `${name || 'session'}.jsonl`
}

/** Has the browser save a file. */
export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // It has begun to read by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
