// Fields of a log in a list, in addition to its status: title, metadata and a preview line of the last text.

import type { Chunk, JsonObject } from '@millrace/protocol'
import type { Ticket } from './ticket.ts'

/** Title and metadata that users gave a log. */
export interface TicketSessionInfo {
  readonly title?: string
  readonly metadata?: JsonObject
}

/** Maximum length of a preview line, in characters. */
export const MAX_PREVIEW_LINE = 160
/** Maximum length of a title, in characters. */
export const MAX_TITLE = 200
/** Maximum size of metadata as JSON in bytes, and its maximum nesting depth. */
export const MAX_METADATA_BYTES = 4096
export const MAX_METADATA_DEPTH = 16

/** The beginning of a text as one line: words with single spaces. Reads no more of the text than it needs. */
export function previewLine(text: string): string {
  let line = ''
  for (const [word] of text.matchAll(/\S+/g)) {
    if (line.length >= MAX_PREVIEW_LINE) break
    line += line === '' ? word : ` ${word}`
  }
  // A line ends neither inside a surrogate pair nor with a space.
  return line
    .slice(0, MAX_PREVIEW_LINE)
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd()
}

/** The ticket with the preview line of a text. Returns the same ticket for blank text. */
export function withPreviewLine(ticket: Ticket, text = ''): Ticket {
  const line = previewLine(text)
  return line === '' ? ticket : { ...ticket, line }
}

type ChunkOfType<T extends Chunk['type']> = Extract<Chunk, { type: T }>

/** The text of a request's message. */
export const requestText = ({ message }: ChunkOfType<'run-requested'>): string =>
  message?.parts.map(part => (part.type === 'text' ? part.text : '')).join(' ') ?? ''

/** The ticket after a `session-info`: omitted fields stay, metadata is replaced as a whole. */
export function withSessionInfo(ticket: Ticket, { title, metadata }: ChunkOfType<'session-info'>): Ticket {
  const about = { ...ticket.about, ...(title !== undefined && { title }), ...(metadata && { metadata }) }
  return { ...ticket, about }
}

/** Returns which field for lists is too large in a chunk, or undefined (law 6). */
export function listFieldProblem(chunk: Chunk): string | undefined {
  if (chunk.type === 'run-paused' || chunk.type === 'run-finished') {
    return tooLong(`${chunk.type}.line`, chunk.line, MAX_PREVIEW_LINE)
  }
  if (chunk.type !== 'session-info') return undefined
  const { title, metadata } = chunk
  const problem = metadata && metadataProblem(metadata)
  return tooLong('session-info.title', title, MAX_TITLE) ?? (problem && `session-info.metadata: ${problem}`)
}

function tooLong(field: string, text: string | undefined, max: number): string | undefined {
  if (text === undefined || text.length <= max) return undefined
  return `${field}: expected at most ${max} characters, found ${text.length}`
}

/** Returns why metadata is too large, or undefined. */
export function metadataProblem(metadata: JsonObject): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(metadata))
  if (bytes > MAX_METADATA_BYTES) return `expected at most ${MAX_METADATA_BYTES} bytes of JSON, found ${bytes}`
  if (depthOf(metadata) <= MAX_METADATA_DEPTH) return undefined
  return `expected at most ${MAX_METADATA_DEPTH} levels, found more`
}

/** Nesting depth of objects and arrays. */
const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
