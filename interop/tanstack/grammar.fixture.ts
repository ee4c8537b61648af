import type { TanstackChunk } from '@millrace/dialects/tanstack'
import { StreamChunkSchema } from '@millrace/dialects/tanstack/schemas'
import { expect } from 'vitest'

/**
 * The order in which the first protocol says things: the `tool_call`s of a turn, its `done`, and then, for each call, a question, a request or a result; nothing after an `error`.
 * Throws where one connection says them otherwise. Calls of earlier connections may be settled in it.
 */
export function mustBeInOrder(events: readonly TanstackChunk[]): void {
  const open = new Set<string>()
  const done = new Set<string>()
  const indices = new Map<string, number>()
  const ids = new Set<string>()
  let isOver = false
  for (const event of events) {
    expect(isOver, 'something follows an error').toBe(false)
    expect(ids.has(event.id), `the id ${event.id} comes twice`).toBe(false)
    ids.add(event.id)
    expect(event).toMatchObject({ id: expect.any(String), model: expect.any(String), timestamp: expect.any(Number) })
    if (event.type === 'millrace') continue
    StreamChunkSchema.parse(event)
    switch (event.type) {
      case 'content':
      case 'thinking':
        expect(event.delta, 'a client would print what is missing').toEqual(expect.any(String))
        break
      case 'tool_call': {
        const { id } = event.toolCall
        expect(done.has(id), `${id}: its turn was done`).toBe(false)
        expect(indices.get(id) ?? event.index, `${id}: its index has changed`).toBe(event.index)
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
        expect(done.has(event.toolCallId), `${event.toolCallId}: a client is asked before it is done`).toBe(true)
        break
      case 'tool_result':
        expect(open.has(event.toolCallId), `${event.toolCallId}: a result before it is done`).toBe(false)
        break
      case 'error':
        isOver = true
        break
      default:
    }
  }
  if (!isOver) expect(open.size, 'a turn without a done').toBe(0)
}
