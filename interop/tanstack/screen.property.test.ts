import { tanstackDialect } from '@millrace/dialects/tanstack'
import type { Chunk } from '@millrace/protocol'
import * as fc from 'fast-check'
import { type StreamChunk, StreamProcessor } from 'seed-tanstack-ai'
import { expect, test } from 'vitest'
import { multiplied } from '../../scripts/faults/campaign.ts'
import { expectOrder } from './expect-order.fixture.ts'

// Streams that scripted models do not produce: text, thinking and calls of one turn in any order, with common prefixes.

type ContentPart =
  | { readonly kind: 'text' | 'thinking'; readonly deltas: readonly string[] }
  | { readonly kind: 'call' }

const deltas = fc.array(fc.constantFrom('o', 'ok', 'k', ' '), { minLength: 1, maxLength: 3 })
const piece: fc.Arbitrary<ContentPart> = fc.oneof(
  fc.record({ kind: fc.constant('text' as const), deltas }),
  fc.record({ kind: fc.constant('thinking' as const), deltas }),
  fc.constant({ kind: 'call' as const }),
)
const turns = fc.array(fc.array(piece, { maxLength: 5 }), { minLength: 1, maxLength: 4 })

/** Chunks of the turns, and the expected result: calls, and texts with adjacent ones joined. */
function contentOf(all: readonly (readonly ContentPart[])[]) {
  const chunks: Chunk[] = []
  const visible: string[] = []
  let id = 0
  let isText = false
  for (const pieces of all) {
    const calls: string[] = []
    chunks.push({ type: 'step-start' })
    for (const one of pieces) {
      id++
      if (one.kind === 'call') {
        const toolCallId = `c${id}`
        calls.push(toolCallId)
        visible.push(`[${toolCallId}]`)
        isText = false
        chunks.push({ type: 'tool-input-start', toolCallId, toolName: 'weigh' })
        chunks.push({ type: 'tool-input-delta', toolCallId, delta: '{}' })
        chunks.push({ type: 'tool-input-available', toolCallId, toolName: 'weigh', input: {} })
      } else {
        const type = one.kind === 'text' ? 'text-delta' : 'reasoning-delta'
        for (const delta of one.deltas) chunks.push({ type, id: `${id}`, delta })
        if (one.kind !== 'text') continue
        const text = one.deltas.join('')
        if (isText) visible[visible.length - 1] += text
        else visible.push(text)
        isText = true
      }
    }
    chunks.push({ type: 'step-finish', finishReason: calls.length > 0 ? 'tool-calls' : 'stop' })
    for (const toolCallId of calls) chunks.push({ type: 'tool-output-available', toolCallId, output: 1 })
  }
  return { chunks, visible }
}

test.each(['cumulative', 'empty'] as const)('shows all text exactly once (content: %s)', content => {
  const property = fc.property(turns, all => {
    const { chunks, visible } = contentOf(all)
    const encoder = tanstackDialect.encoder({ content })
    const events = [...chunks.flatMap(chunk => encoder.encode({ chunk })), ...encoder.end('completed')]
    expectOrder(events)
    const processor = new StreamProcessor()
    processor.startAssistantMessage()
    for (const event of events) processor.processChunk(event as StreamChunk)
    processor.finalizeStream()
    const found: string[] = []
    let isText = false
    for (const part of processor.getMessages().at(-1)?.parts ?? []) {
      if (part.type === 'tool-call') found.push(`[${part.id}]`)
      else if (part.type === 'text' && isText) found[found.length - 1] += part.content
      else if (part.type === 'text') found.push(part.content)
      if (part.type === 'text' || part.type === 'tool-call') isText = part.type === 'text'
    }
    expect(found).toEqual(visible)
  })
  fc.assert(property, { numRuns: multiplied(400) })
})
