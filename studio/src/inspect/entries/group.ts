import { type Chunk, isData } from '@millrace/protocol'
import { type ChunkGroup, groupOf as groupOfType } from '@millrace/protocol/internal'

/** The groups of the catalogue, in reading order. `other` holds types of later versions. */
export const groups = [
  'run',
  'step',
  'message',
  'text',
  'reasoning',
  'tool',
  'delegation',
  'workflow',
  'structured',
  'state',
  'content',
  'error',
  'other',
] as const satisfies readonly Group[]

export type Group = ChunkGroup | 'other'

/** The group of the catalogue that a chunk belongs to. */
export const groupOf = (chunk: Chunk): Group => (isData(chunk) ? 'content' : groupOfType(chunk.type)) ?? 'other'
