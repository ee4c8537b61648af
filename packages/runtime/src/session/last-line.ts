// The last line of text of a run, for lists of sessions.

import type { Lane } from '@millrace/log'
import { type BatchLike, previewLine } from '@millrace/log/internal'
import type { Message } from '@millrace/protocol'

/** Number of characters at the end of a text that are searched, so that the cost does not grow with the text. */
const TAIL_LENGTH = 2000

/** The last non-empty line of a text, as a list shows it; undefined if there is none. */
export function lastLineOf(text: string): string | undefined {
  const lines = text.slice(-TAIL_LENGTH).split(/[\r\n\u2028\u2029]/)
  const at = lines.findLastIndex(line => line.trim() !== '')
  const last = lines[at]
  if (last === undefined) return undefined
  // The line starts before the searched part: drop its first word or lone surrogate, which may be incomplete.
  const isCut = at === 0 && text.length > TAIL_LENGTH
  return previewLine(isCut ? `…${last.replace(/^[\udc00-\udfff]/, '').replace(/^\S{1,40}\s+(?=\S)/, '')}` : last)
}

/** The last line of a public message; undefined if it has no text. */
export function lastLineIn(message: Message | undefined): string | undefined {
  for (const part of message?.parts.toReversed() ?? []) {
    const line = part.type === 'text' && 'text' in part ? lastLineOf(part.text) : undefined
    if (line !== undefined) return line
  }
  return undefined
}

/**
 * Adds the last line to the end of the run in a batch, unless the log would reject it: an end is never refused (law 6).
 */
export function withLastLine(batch: BatchLike, line: string | undefined, lane: Lane): BatchLike {
  if (line === undefined) return batch
  return batch.map(chunk => {
    if (!('type' in chunk) || chunk.type !== 'run-finished') return chunk
    const withLine = { ...chunk, line }
    // The notifier adds the deadline of the notification.
    return lane.fits([{ ...withLine, notifyBy: Number.MAX_SAFE_INTEGER }]) ? withLine : chunk
  })
}
