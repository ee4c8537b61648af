import { type Entry, isGuest } from '@millrace/protocol'
import { oneLine } from '../terminal/escape-control.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { chunkSummary } from './chunk-summary.ts'

/** An entry as one line: sequence, time, lane or guest, type and summary. */
export function entryLine({ sequence, timestamp, origin, chunk }: Entry, { paint }: Pick<Terminal, 'paint'>): string {
  const author = isGuest(origin) ? `guest ${origin.guest}` : origin.lane
  return [
    paint('dim', String(sequence).padStart(6)),
    paint('dim', new Date(timestamp).toISOString().slice(11, 23)),
    paint('cyan', oneLine(author, 24).padEnd(12)),
    paint(colorOf(chunk.type), oneLine(chunk.type, 32).padEnd(22)),
    chunkSummary(chunk),
  ].join('  ')
}

function colorOf(type: string): 'red' | 'yellow' | 'green' | 'magenta' | 'blue' | 'white' {
  if (/error|denied|discarded|rewind|superseded/.test(type)) return 'red'
  if (/approval|interrupt|paused|claimed/.test(type)) return 'yellow'
  if (/^run-|checkpoint/.test(type)) return 'green'
  if (/^tool/.test(type)) return 'magenta'
  return /^(text|reasoning|message)/.test(type) ? 'white' : 'blue'
}
