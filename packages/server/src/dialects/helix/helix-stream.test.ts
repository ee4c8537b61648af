// Positions in a Helix stream: ids that prove an entry of this log, and bare sequences that do not.

import type { StreamEvent } from '@millrace/dialects/helix'
import { decodeCursor, encodeCursor } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { openTwoUserServer, type ReadReply, type TwoUserServer } from '../../routing/two-user-server.fixture.ts'

interface Received {
  readonly id: string | undefined
  readonly event: StreamEvent
}

const receivedIn = ({ text }: ReadReply): Received[] =>
  text
    .split('\n\n')
    .filter(block => block.includes('data: '))
    .map(block => ({
      id: /^id: (.*)$/m.exec(block)?.[1],
      event: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? ''),
    }))

/** Joins adjacent text deltas as a replay does: the event has the position of the last one. */
function withMergedDeltas(received: readonly Received[]): Received[] {
  const merged: Received[] = []
  for (const { id, event } of received) {
    const previous = merged.at(-1)?.event
    if (isTextDelta(event) && previous && isTextDelta(previous)) {
      const delta = previous.chunk.delta + event.chunk.delta
      merged.pop()
      merged.push({ id, event: { ...previous, sequence: event.sequence, chunk: { ...previous.chunk, delta } } })
    } else merged.push({ id, event })
  }
  return merged
}

type ChunkEvent = Extract<StreamEvent, { type: 'chunk' }>
type TextDeltaEvent = ChunkEvent & { chunk: Extract<ChunkEvent['chunk'], { type: 'text_delta' }> }

const isTextDelta = (event: StreamEvent): event is TextDeltaEvent =>
  event.type === 'chunk' && event.chunk.type === 'text_delta'

const start = (at: TwoUserServer, agent: string, message = 'Hello', more: object = {}) =>
  at.send({
    path: `/api/helix/${agent}/start`,
    body: { sessionId: 's', message, messageId: message, ...more },
    headers: { accept: 'text/event-stream' },
  })

/** How a client sends its position. */
const POSITION_FIELDS = {
  'Last-Event-ID': (id: string) => ({ path: '', headers: { 'last-event-id': id } }),
  'X-Resume-From-Sequence': (id: string) => ({ path: '', headers: { 'x-resume-from-sequence': id } }),
  fromSequence: (id: string) => ({ path: `&fromSequence=${id}`, headers: {} }),
}

const follow = async (at: TwoUserServer, field: keyof typeof POSITION_FIELDS, id: string): Promise<ReadReply> => {
  const { path, headers } = POSITION_FIELDS[field](id)
  return at.send({ path: `/api/helix/echo/sse?sessionId=s${path}`, headers: headers as Record<string, string> })
}

const openServer = () => openTwoUserServer({ log: { coalesceMs: 0 } })

describe.each(Object.keys(POSITION_FIELDS) as (keyof typeof POSITION_FIELDS)[])('a position in `%s`', field => {
  test('law 2: is the id of an event, a cursor with the sequence of its chunk, and the rest follows', async () => {
    const at = openServer()
    const received = receivedIn(await start(at, 'echo'))
    const ids = received.flatMap(({ id, event }) => {
      if (id === undefined) return []
      const { sequence, incarnation } = decodeCursor(id)
      expect(incarnation).toBeDefined()
      if (event.type === 'chunk') expect(event.sequence).toBe(sequence)
      return [id]
    })
    expect(ids.length).toBeGreaterThan(5)
    // The end repeats the last position.
    expect([received.at(-1)?.event.type, ids.at(-1)]).toEqual(['end', ids.at(-2)])
    for (const id of new Set(ids)) {
      const from = received.slice(received.findLastIndex(event => event.id === id && event.event.type === 'chunk') + 1)
      expect([id, receivedIn(await follow(at, field, id))]).toEqual([id, withMergedDeltas(from)])
    }
  })

  test('law 2: is truncated if the session was deleted and created again, even with the same content', async () => {
    const at = openServer()
    const before = receivedIn(await start(at, 'echo'))
    await at.send({ path: '/api/sessions/s', method: 'DELETE' })
    const again = receivedIn(await start(at, 'echo'))
    expect(again.map(({ event }) => event.type)).toEqual(before.map(({ event }) => event.type))
    for (const { id } of before) {
      if (id === undefined) continue
      const received = receivedIn(await follow(at, field, id))
      expect([id, received.map(({ event }) => event.type)]).toEqual([id, ['truncated']])
    }
  })

  test('is truncated after the last complete step if the log does not have it', async () => {
    const at = openServer()
    const received = receivedIn(await start(at, 'large'))
    const { sequence, incarnation = '', epoch = '' } = decodeCursor(received.at(-1)?.id ?? '')
    const events = async (id: string) => receivedIn(await follow(at, field, id)).map(({ event }) => event)
    const truncated = { type: 'truncated', truncatedAtStep: 2 }
    expect(await events(encodeCursor({ sequence: sequence + 1, incarnation, epoch }))).toEqual([truncated])
    const other = encodeCursor({ sequence: sequence - 1, incarnation, epoch: 'another' })
    expect(await events(other)).toEqual([{ ...truncated, atSequence: sequence }])
    const earlier = encodeCursor({ sequence: 1, incarnation: 'another', epoch: '0' })
    expect(await events(earlier)).toEqual([{ ...truncated, truncatedAtStep: 0, atSequence: sequence }])
  })

  test('is accepted as a bare sequence, which proves nothing; the next ids are cursors', async () => {
    const at = openServer()
    const received = receivedIn(await start(at, 'echo'))
    const { sequence = 0 } = received.flatMap(({ event }) => (event.type === 'chunk' ? event : [])).at(-1) ?? {}
    for (const bare of [2, sequence]) {
      const rest = receivedIn(await follow(at, field, `${bare}`))
      expect(rest.at(-1)).toEqual(received.at(-1))
      for (const { id } of rest) if (id !== undefined) expect(decodeCursor(id).incarnation).toBeDefined()
    }
    await at.send({ path: '/api/sessions/s', method: 'DELETE' })
    await start(at, 'echo', 'Other')
    expect(receivedIn(await follow(at, field, '2')).at(-1)?.event.type).toBe('end')
  })
})
