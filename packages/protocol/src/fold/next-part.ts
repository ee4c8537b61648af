import { catalogue } from '../catalogue/catalogue.ts'
import type { Chunk } from '../catalogue/chunk.ts'
import type { Entry } from '../entry/entry.ts'
import { getOwn, isObject, type Json, type JsonObject, putOwn } from '../json/json.ts'
import { MAX_JSON_DEPTH } from '../json/json-parser.ts'
import { blobsOf, bodyOf, joinNames, pick } from './fields.ts'
import { nextTool, type ToolChunk } from './next-tool.ts'
import type { AnyPart } from './part-cell.ts'
import type { MessageMeta, PartBase, TextPart, ToolPart } from './view.ts'

/** Whether a chunk is about a tool call. Unknown types of later versions are not. */
export const isCall = (chunk: Chunk): chunk is ToolChunk =>
  chunk.type.startsWith('tool-') && Object.hasOwn(catalogue, chunk.type)

/** The text that a delta appends to a part. */
export const deltaOf = (chunk: Chunk): string | undefined =>
  /^(text|reasoning|tool-input)-delta$/.test(chunk.type) ? (chunk as { delta: string }).delta : undefined

/** The key of the part that a chunk writes to. Chunks with the same id write to the same part. */
export function keyOf(chunk: Chunk, sequence: number): string {
  const { id, toolCallId, sourceId } = chunk as { id?: string; toolCallId?: string; sourceId?: string }
  const name = isCall(chunk) ? toolCallId : chunk.type.startsWith('source-') ? sourceId : id
  const type = /^(text|reasoning|tool)(?=-)/.exec(chunk.type)?.[0] ?? chunk.type
  return name === undefined ? `#${sequence}` : joinNames(type, ':', name)
}

/** The part after an entry, or undefined if the entry is not valid for it. */
export function nextPart(part: AnyPart | undefined, entry: Entry, key: string): AnyPart | undefined {
  const { chunk, sequence } = entry
  const base = { key, at: part?.at ?? sequence }
  const next =
    key === 'meta'
      ? nextMeta(part as MessageMeta, chunk as MetaChunk, base)
      : isCall(chunk)
        ? nextTool(part as ToolPart, chunk, base)
        : /^(text|reasoning)-/.test(chunk.type)
          ? nextText(part as TextPart, chunk as TextChunk, base)
          : ({ ...bodyOf(chunk), type: chunk.type, ...base } as AnyPart)
  if (!next || (!next.blobs && !entry.blobs)) return next
  const { blobs, ...rest } = next
  // The old blobs of fields that the chunk replaces are dropped.
  const isKept = (pointer: string) => !Object.hasOwn(chunk, pointer.split('/')[1] ?? '')
  return { ...rest, ...blobsOf(next, isKept, entry.blobs) } as AnyPart
}

type TextChunk = Extract<Chunk, { type: `text-${string}` | `reasoning-${string}` }>

/** The text part after a chunk, without the text of a delta. Undefined if the chunk is not valid for it: nothing follows the end of a part. */
function nextText(part: TextPart | undefined, chunk: TextChunk, base: PartBase): TextPart | undefined {
  const [type, verb] = chunk.type.split('-') as [TextPart['type'], string]
  if (part ? verb === 'start' || part.state === 'done' : verb === 'end') return undefined
  const { id, providerMetadata } = chunk
  if (part && verb === 'delta' && !providerMetadata) return part
  return {
    type,
    text: '',
    ...part,
    ...base,
    id,
    state: verb === 'end' ? 'done' : 'streaming',
    ...(providerMetadata && { providerMetadata }),
  }
}

/** Merges objects deeply. Other values, arrays, and objects beyond the depth limit replace the old value. */
function merge(into: JsonObject | undefined, from: JsonObject, depth = 0): JsonObject {
  const merged: JsonObject = { ...into }
  for (const key of Object.keys(from)) {
    const value = from[key] as Json
    const old = getOwn(merged, key)
    const isMerged = isObject(old) && isObject(value) && depth < MAX_JSON_DEPTH
    putOwn(merged, key, isMerged ? merge(old, value, depth + 1) : value)
  }
  return merged
}

type MetaChunk = Extract<Chunk, { type: 'start' | 'finish' | 'abort' | 'message-metadata' }>

/** The metadata of a message after a chunk. */
function nextMeta(meta: MessageMeta | undefined, chunk: MetaChunk, base: PartBase): MessageMeta {
  const metadata = chunk.type === 'abort' ? undefined : chunk.metadata
  return {
    type: 'meta',
    ...meta,
    ...base,
    ...(metadata && { metadata: merge(meta?.metadata, metadata) }),
    ...(chunk.type === 'finish' && pick(chunk, 'finishReason')),
    ...(chunk.type === 'abort' && { aborted: true }),
  }
}
