// The stream helpers of the documentation for its chunks. Helpers that do not read chunks are those of the protocol package.

import { filterWith, type StreamOptions } from '@millrace/protocol'
import type { BaseChunk } from '../types.ts'
import { isTextDeltaChunk } from './guards.ts'

export { collectAll, combineStreams, excludeTypes, filterByType, filterWith, skip, take } from '@millrace/protocol'

const filterBy =
  (field: 'agentId' | 'agentType') =>
  <Item extends BaseChunk>(stream: AsyncIterable<Item>, value: string, options?: StreamOptions) =>
    filterWith(stream, item => item[field] === value, options)

/** Keeps the chunks of an agent id. */
export const filterByAgentId = /* @__PURE__ */ filterBy('agentId')

/** Keeps the chunks of an agent type. */
export const filterByAgentType = /* @__PURE__ */ filterBy('agentType')

/** Joins the `text_delta` chunks of a finite stream. */
export async function collectText(
  stream: AsyncIterable<{ readonly type: string }>,
  options?: StreamOptions,
): Promise<string> {
  let text = ''
  for await (const { delta } of filterWith(stream, isTextDeltaChunk, options)) text += delta
  return text
}
