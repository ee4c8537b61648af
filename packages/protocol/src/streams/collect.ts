import { isTextDelta } from '../catalogue/guards.ts'
import { itemChunk, type StreamItem } from './filter.ts'
import { AbortableIterator, type StreamOptions } from './pipe.ts'

/** Collects all items of a stream until it ends. */
export async function collectAll<Item>(stream: AsyncIterable<Item>, options?: StreamOptions): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of new AbortableIterator(stream, options?.signal)) all.push(item)
  return all
}

/** Joins the text of all `text-delta` chunks of a stream until it ends. Includes text that is discarded later. */
export async function collectText(stream: AsyncIterable<StreamItem>, options?: StreamOptions): Promise<string> {
  let text = ''
  for await (const item of new AbortableIterator(stream, options?.signal)) {
    const chunk = itemChunk(item)
    if (isTextDelta(chunk)) text += chunk.delta
  }
  return text
}
