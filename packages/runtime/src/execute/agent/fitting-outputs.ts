// Outputs of provider tools are committed with their answer. Each fits a commit alone, but not all of them may fit together.

import type { Lane } from '@millrace/log'
import type { Chunk } from '@millrace/protocol'
import { jsonSizeAtLeast } from '../../schema/json-size.ts'
import { fitCalls } from '../tool/fit-calls.ts'

type OutputChunk = Extract<Chunk, { type: 'tool-output-available' | 'tool-output-error' }>

/** Bytes of an output that count when outputs are selected: the log stores a larger one apart from its commit. */
const MAX_OUTPUT_WEIGHT = 64 * 1024

const isOutput = (chunk: Chunk): chunk is OutputChunk =>
  chunk.type === 'tool-output-available' || chunk.type === 'tool-output-error'

/** The outputs among chunks that fit into half of a commit: the rest of it is for its other entries. */
export function fittingOutputs(chunks: readonly Chunk[], lane: Lane): readonly OutputChunk[] {
  const outputs = chunks.filter(isOutput)
  const fitHalf = (selected: readonly Chunk[]) => lane.fits([...selected, ...selected])
  if (fitHalf(outputs)) return outputs
  const weighed = outputs.map(chunk => {
    const weight = Math.min(jsonSizeAtLeast(chunk, MAX_OUTPUT_WEIGHT), MAX_OUTPUT_WEIGHT)
    return { toolCallId: chunk.toolCallId, weight, chunk }
  })
  return fitCalls(weighed, selected => fitHalf(selected.map(({ chunk }) => chunk))).map(({ chunk }) => chunk)
}

/** The chunks with an error in place of each output that does not fit. */
export function withFittingOutputs(chunks: readonly Chunk[], lane: Lane): readonly Chunk[] {
  if (chunks.length === 0 || lane.fits(chunks)) return chunks
  const fitting = new Set<Chunk>(fittingOutputs(chunks, lane))
  return chunks.map(chunk => (!isOutput(chunk) || fitting.has(chunk) ? chunk : tooLargeOutput(chunk.toolCallId)))
}

const tooLargeOutput = (toolCallId: string): Chunk => ({
  type: 'tool-output-error',
  toolCallId,
  errorText: 'the outputs of this step together exceed the size limit of the log',
  code: 'tool_output_too_large',
  executor: 'provider',
})
