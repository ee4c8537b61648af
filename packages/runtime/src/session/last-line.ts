// The last line that a run has said, for lists of sessions.

import type { Lane } from '@millrace/log'
import { type BatchLike, lineOf } from '@millrace/log/internal'
import type { Message } from '@millrace/protocol'

/** How much of a text is looked at, from its end: what a line costs does not grow with the text. */
const TAIL = 2000

/** The last line of a text that says something, as a list shows it; undefined where none does. */
export function lastLineOf(text: string): string | undefined {
  const lines = text.slice(-TAIL).split(/[\r\n\u2028\u2029]/)
  const at = lines.findLastIndex(line => line.trim() !== '')
  const last = lines[at]
  if (last === undefined) return undefined
  // One that begins before that goes without its first word, or half a character, which may not be whole.
  const isCut = at === 0 && text.length > TAIL
  return lineOf(isCut ? `…${last.replace(/^[\udc00-\udfff]/, '').replace(/^\S{1,40}\s+(?=\S)/, '')}` : last)
}

/** The last line of a message that everybody sees; undefined where it says nothing. */
export function lastLineIn(message: Message | undefined): string | undefined {
  for (const part of message?.parts.toReversed() ?? []) {
    const line = part.type === 'text' && 'text' in part ? lastLineOf(part.text) : undefined
    if (line !== undefined) return line
  }
  return undefined
}

/** A batch whose end says the last line of the run; not where the log does not take it, because an end is never refused (law 6). */
export function withLine(batch: BatchLike, line: string | undefined, lane: Lane): BatchLike {
  if (line === undefined) return batch
  return batch.map(said => {
    if (!('type' in said) || said.type !== 'run-finished') return said
    const lined = { ...said, line }
    // Whoever owes it to observers adds until when.
    return lane.fits([{ ...lined, notifyBy: Number.MAX_SAFE_INTEGER }]) ? lined : said
  })
}
