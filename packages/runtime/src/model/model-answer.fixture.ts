import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { Chunk } from '@millrace/protocol'
import { z } from 'zod'
import { type AnyTool, providerTool, tool } from '../define/tool.ts'
import { ModelAnswer, type ModelAnswerOptions } from './model-answer.ts'

const look = tool({
  name: 'look',
  title: 'Look it up',
  inputSchema: z.object({ city: z.string() }),
  execute: () => null,
})
const note = tool({ name: 'note', inputSchema: z.string(), execute: () => null })
const search = providerTool({ name: 'search', id: 'maker.search' })
const TOOLS = new Map<string, AnyTool>([look, note, search].map(each => [each.name, each]))

/** Reads stream parts into an answer. Returns it with the draft chunks that it wrote. */
export async function readAnswer(
  parts: readonly LanguageModelV4StreamPart[],
  options: Partial<ModelAnswerOptions> = {},
) {
  const chunks: Chunk[] = []
  const answer = new ModelAnswer({
    step: 2,
    tools: TOOLS,
    isTaken: () => false,
    reserve: id => !(options.isTaken?.(id) ?? false),
    maxIdLength: 256,
    rewinds: 0,
    write: async chunk => void chunks.push(chunk),
    fits: () => true,
    ...options,
  })
  for (const part of parts) await answer.onPart(part)
  return { chunks, answer, types: chunks.map(({ type }) => type) }
}

/** Provider metadata of a part. */
export const signed = (signature: string) => ({ providerMetadata: { maker: { signature } } })
