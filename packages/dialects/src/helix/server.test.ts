import { expect, test } from 'vitest'
import { helix } from './server.ts'

const delta = (text: string) => ({
  type: 'text_delta',
  delta: text,
  agentId: 'r',
  agentType: 'a',
  timestamp: 0,
  step: 0,
})

/** A body with events, each with its sequence and id. It ends like a dropped connection unless the last event is an end. */
function reply(
  events: readonly { readonly id?: string; readonly sequence?: number; readonly text?: string }[],
): Response {
  const lines = events.map(({ id, sequence, text }) => {
    const event = text === undefined ? { type: 'end' } : { type: 'chunk', chunk: delta(text), sequence }
    return `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(event)}\n\n`
  })
  return new Response(lines.join(''), { headers: { 'content-type': 'text/event-stream' } })
}

/** The resume headers of a client whose first connection drops after these events. */
async function resumedAfter(events: Parameters<typeof reply>[0]): Promise<(string | null)[]> {
  const resumes: (string | null)[] = []
  const ended = Promise.withResolvers<void>()
  const connection = helix({
    api: 'http://helix.test',
    fetch: async (_, init) => {
      const header = new Headers(init?.headers).get('x-resume-from-sequence')
      if (header === null) return reply(events)
      resumes.push(header)
      return reply([{ id: '9', sequence: 9, text: 'end' }, { id: '9' }])
    },
  })
  connection.follow('s', {
    snapshot: () => {},
    entries: entries => {
      if (entries.some(({ chunk }) => chunk.type === 'run-finished')) ended.resolve()
    },
  })
  const input = { parts: [{ type: 'text', text: 'Hi' }] }
  await connection.api.ask('POST', '/sessions/s/runs', { runId: 'r', messageId: 'm', input })
  await ended.promise
  return resumes
}

test.each([
  ['a cursor of a Millrace server', [{ id: '3.i.e', sequence: 3, text: 'a' }], '3.i.e'],
  ['the sequence of a Helix server', [{ id: '3', sequence: 3, text: 'a' }], '3'],
  ['the sequence in an event without an id', [{ sequence: 3, text: 'a' }], '3'],
  [
    'the sequence in an event after one with an id',
    [
      { id: '3.i.e', sequence: 3, text: 'a' },
      { sequence: 4, text: 'b' },
    ],
    '4',
  ],
  ['the last event that has one', [{ id: '3.i.e', sequence: 3, text: 'a' }, { text: 'b' }], '3.i.e'],
] as const)('resumes a dropped stream after %s', async (_, events, position) => {
  expect(await resumedAfter(events)).toEqual([position])
})
