import type { Chunk } from '../catalogue/chunk.ts'
import type { PartBase, TextPart } from './view.ts'

export type TextChunk = Extract<Chunk, { type: `text-${string}` | `reasoning-${string}` }>

/** The text part after a chunk, its growth apart, or undefined where the chunk does not fit: nothing follows the end of a part. */
export function nextText(part: TextPart | undefined, chunk: TextChunk, base: PartBase): TextPart | undefined {
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
