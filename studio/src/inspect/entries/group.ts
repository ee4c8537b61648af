import { type Chunk, catalogue, isData } from '@millrace/protocol'

/** The groups of the catalogue, in reading order; `other` is what a later version may write. */
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
] as const

export type Group = (typeof groups)[number]

/** The group of the catalogue that a chunk belongs to. */
export function groupOf(chunk: Chunk): Group {
  const { type } = chunk
  if (Object.hasOwn(catalogue, type)) return catalogue[type as keyof typeof catalogue].group
  return isData(chunk) ? 'content' : 'other'
}
