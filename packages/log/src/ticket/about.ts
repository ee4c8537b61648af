// What a list shows of a log, beside what it is doing: what people call it, and the last line that was said there.

import type { Chunk, JsonObject } from '@millrace/protocol'
import type { Ticket } from './ticket.ts'

/** What people call a log, and what they keep beside it. */
export interface TicketAbout {
  readonly title?: string
  readonly metadata?: JsonObject
}

/** The most characters of a line for lists. */
export const MAX_LINE = 160
/** The most characters of a title. */
export const MAX_TITLE = 200
/** The most bytes of metadata, as JSON, and how deep it may nest. */
export const MAX_METADATA_BYTES = 4096
export const MAX_METADATA_DEPTH = 16

/** The beginning of a text as one line for lists: its words, a space between each two. Looks no further than that. */
export function lineOf(text: string): string {
  let line = ''
  for (const [word] of text.matchAll(/\S+/g)) {
    if (line.length >= MAX_LINE) break
    line += line === '' ? word : ` ${word}`
  }
  // No line ends inside a character, or in a space.
  return line
    .slice(0, MAX_LINE)
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd()
}

/** The ticket with the line that a text begins with; the same where it says nothing. */
export function withLine(ticket: Ticket, text = ''): Ticket {
  const line = lineOf(text)
  return line === '' ? ticket : { ...ticket, line }
}

type ChunkOfType<T extends Chunk['type']> = Extract<Chunk, { type: T }>

/** What a person says with a request, as text. */
export const textOf = ({ message }: ChunkOfType<'run-requested'>): string =>
  message?.parts.map(part => (part.type === 'text' ? part.text : '')).join(' ') ?? ''

/** The ticket after somebody said what the log is called: what is not named stays, metadata comes whole. */
export function withAbout(ticket: Ticket, { title, metadata }: ChunkOfType<'session-info'>): Ticket {
  const about = { ...ticket.about, ...(title !== undefined && { title }), ...(metadata && { metadata }) }
  return { ...ticket, about }
}

/** Says what of a chunk is more than a list may show, or nothing (law 6). */
export function aboutProblem(chunk: Chunk): string | undefined {
  if (chunk.type === 'run-paused' || chunk.type === 'run-finished') {
    return tooLong(`${chunk.type}.line`, chunk.line, MAX_LINE)
  }
  if (chunk.type !== 'session-info') return undefined
  const { title, metadata } = chunk
  const wrong = metadata && metadataProblem(metadata)
  return tooLong('session-info.title', title, MAX_TITLE) ?? (wrong && `session-info.metadata: ${wrong}`)
}

function tooLong(place: string, text: string | undefined, most: number): string | undefined {
  if (text === undefined || text.length <= most) return undefined
  return `${place}: expected at most ${most} characters, found ${text.length}`
}

/** Says what of metadata is more than a list may show, or nothing. */
export function metadataProblem(metadata: JsonObject): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(metadata))
  if (bytes > MAX_METADATA_BYTES) return `expected at most ${MAX_METADATA_BYTES} bytes of JSON, found ${bytes}`
  if (depthOf(metadata) <= MAX_METADATA_DEPTH) return undefined
  return `expected at most ${MAX_METADATA_DEPTH} levels, found more`
}

/** How many objects and arrays lie in one another. */
const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
