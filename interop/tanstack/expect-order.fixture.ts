import type { TanstackChunk } from '@millrace/dialects/tanstack'
import { StreamChunkSchema } from '@millrace/dialects/tanstack/schemas'
import { expect } from 'vitest'

/**
 * Order of the 0.2 protocol: the `tool_call`s of a turn, its `done`, then for each call an approval, a client tool request or a result; nothing after an `error`.
 * @throws if a connection violates it. A connection can settle calls of earlier ones.
 */
export function expectOrder(events: readonly TanstackChunk[]): void {
  const open = new Set<string>()
  const done = new Set<string>()
  const indices = new Map<string, number>()
  const ids = new Set<string>()
  let isOver = false
  for (const event of events) {
    expect(isOver, 'event after an error').toBe(false)
    expect(ids.has(event.id), `the id ${event.id} comes twice`).toBe(false)
    ids.add(event.id)
    expect(event).toMatchObject({ id: expect.any(String), model: expect.any(String), timestamp: expect.any(Number) })
    if (event.type === 'millrace') continue
    StreamChunkSchema.parse(event)
    switch (event.type) {
      case 'content':
      case 'thinking':
        expect(event.delta, 'a client would print an undefined delta').toEqual(expect.any(String))
        break
      case 'tool_call': {
        const { id } = event.toolCall
        expect(done.has(id), `${id}: call after the done of its turn`).toBe(false)
        expect(indices.get(id) ?? event.index, `${id}: changed index`).toBe(event.index)
        indices.set(id, event.index)
        open.add(id)
        break
      }
      case 'done':
        for (const id of open) done.add(id)
        open.clear()
        break
      case 'approval-requested':
      case 'tool-input-available':
        expect(done.has(event.toolCallId), `${event.toolCallId}: client request before done`).toBe(true)
        break
      case 'tool_result':
        expect(open.has(event.toolCallId), `${event.toolCallId}: result before done`).toBe(false)
        break
      case 'error':
        isOver = true
        break
      default:
    }
  }
  if (!isOver) expect(open.size, 'turn without done').toBe(0)
}
