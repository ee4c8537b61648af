// The helpers of the page over its own chunks. Those that do not look into a chunk are the same for all.

import { filterWith, type StreamOptions } from '@millrace/protocol'
import type { BaseChunk } from './chunk.ts'
import { isTextDeltaChunk } from './guards.ts'

export { collectAll, combineStreams, excludeTypes, filterByType, filterWith, skip, take } from '@millrace/protocol'

const filterBy =
  (field: 'agentId' | 'agentType') =>
  <Item extends BaseChunk>(stream: AsyncIterable<Item>, value: string, options?: StreamOptions) =>
    filterWith(stream, item => item[field] === value, options)

/** Keeps the chunks of one agent. */
export const filterByAgentId = /* @__PURE__ */ filterBy('agentId')

/** Keeps the chunks of the agents of one name. */
export const filterByAgentType = /* @__PURE__ */ filterBy('agentType')

/** The text of all `text_delta` chunks of a stream that ends. */
export async function collectText(
  stream: AsyncIterable<{ readonly type: string }>,
  options?: StreamOptions,
): Promise<string> {
  let text = ''
  for await (const { delta } of filterWith(stream, isTextDeltaChunk, options)) text += delta
  return text
}
