// What an entry makes of a part, whatever kind of part it is.

import { catalogue } from '../catalogue/catalogue.ts'
import type { Chunk } from '../catalogue/chunk.ts'
import type { Entry } from '../entry/entry.ts'
import { blobsOf, bodyOf, joinNames } from './fields.ts'
import { type MetaChunk, nextMeta } from './meta.ts'
import { nextTool, type ToolChunk } from './next-tool.ts'
import type { AnyPart } from './part-cell.ts'
import { nextText, type TextChunk } from './text.ts'
import type { Meta, TextPart, ToolPart } from './view.ts'

/** Tells a chunk about a tool call; one of a later version's is none that we know. */
export const isCall = (chunk: Chunk): chunk is ToolChunk =>
  chunk.type.startsWith('tool-') && Object.hasOwn(catalogue, chunk.type)

/** What a delta adds to a part that grows. */
export const deltaOf = (chunk: Chunk): string | undefined =>
  /^(text|reasoning|tool-input)-delta$/.test(chunk.type) ? (chunk as { delta: string }).delta : undefined

/** Where in its message a chunk writes: of several with one name, all to the same place. */
export function keyOf(chunk: Chunk, sequence: number): string {
  const { id, toolCallId, sourceId } = chunk as { id?: string; toolCallId?: string; sourceId?: string }
  const name = isCall(chunk) ? toolCallId : chunk.type.startsWith('source-') ? sourceId : id
  const type = /^(text|reasoning|tool)(?=-)/.exec(chunk.type)?.[0] ?? chunk.type
  return name === undefined ? `#${sequence}` : joinNames(type, ':', name)
}

/** The part after an entry, or undefined where the entry does not fit it. */
export function nextPart(part: AnyPart | undefined, entry: Entry, key: string): AnyPart | undefined {
  const { chunk, sequence } = entry
  const base = { key, at: part?.at ?? sequence }
  const next =
    key === 'meta'
      ? nextMeta(part as Meta, chunk as MetaChunk, base)
      : isCall(chunk)
        ? nextTool(part as ToolPart, chunk, base)
        : /^(text|reasoning)-/.test(chunk.type)
          ? nextText(part as TextPart, chunk as TextChunk, base)
          : ({ ...bodyOf(chunk), type: chunk.type, ...base } as AnyPart)
  if (!next || (!next.blobs && !entry.blobs)) return next
  const { blobs, ...rest } = next
  // What the chunk says anew is no longer where it was.
  const isKept = (pointer: string) => !Object.hasOwn(chunk, pointer.split('/')[1] ?? '')
  return { ...rest, ...blobsOf(next, isKept, entry.blobs) } as AnyPart
}
