import { type Chunk, type Entry, Fold } from '@millrace/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { problemsOf } from './prompt.fixture.ts'
import { promptOf } from './prompt.ts'

const RUNS = multiplied(400)

const id = fc.constantFrom('a', 'b', 'c')
const text = fc.constantFrom('', ' ', '\n\n', 'word', 'more words')
const metadata = fc.option(fc.constant({ providerMetadata: { maker: { signature: 's' } } }), { nil: {} })
const toolName = fc.constantFrom('look', '', 'multi.tool/use', 'x'.repeat(100))
const toolCallId = fc.constantFrom('c1', 'c2', 'c3', 'c4', 'c5', 'c6')
const input = fc.constantFrom({}, { a: 1 }, 'no json', null, [1])
const executor = fc.constantFrom('server', 'provider', 'client')
const url = fc.constantFrom(
  'https://example.org/a.png',
  'data:image/png;base64,AAAA',
  'data:,a%20b',
  'data:,%',
  '/a',
  '',
)
const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text }),
  fc.record({ type: fc.constant('file'), url, mediaType: fc.constant('image/png') }),
  fc.record({ type: fc.constant('data-x'), data: fc.constant(1) }),
)

const words = (kind: 'text' | 'reasoning') =>
  fc.oneof(
    fc.tuple(id, metadata).map(([id, more]) => ({ type: `${kind}-start`, id, ...more })),
    fc.tuple(id, text, metadata).map(([id, delta, more]) => ({ type: `${kind}-delta`, id, delta, ...more })),
    fc.tuple(id, metadata).map(([id, more]) => ({ type: `${kind}-end`, id, ...more })),
  )

const call = fc.oneof(
  fc.record({ type: fc.constant('tool-input-start'), toolCallId, toolName, executor }),
  fc.record({ type: fc.constant('tool-input-delta'), toolCallId, delta: fc.constantFrom('{"a"', ':1}', '"', '') }),
  fc.record({ type: fc.constant('tool-input-available'), toolCallId, toolName, input, executor }),
  fc.record({ type: fc.constant('tool-input-error'), toolCallId, toolName, errorText: text, partialInput: input }),
  fc.record({ type: fc.constant('tool-output-available'), toolCallId, output: input }),
  fc.record({ type: fc.constant('tool-output-available'), toolCallId, output: input, preliminary: fc.constant(true) }),
  fc.record({ type: fc.constant('tool-output-error'), toolCallId, errorText: text, code: fc.constant('interrupted') }),
  fc.record({ type: fc.constant('tool-output-denied'), toolCallId }),
  fc
    .tuple(toolCallId, input)
    .map(([toolCallId, input]) => ({ type: 'tool-approval-request', toolCallId, approvalId: toolCallId, input })),
)

const other = fc.oneof(
  fc.record({ type: fc.constant('file'), url, mediaType: fc.constant('image/png') }),
  fc.constant({ type: 'data-provider-content', id: '1', data: { kind: 'maker.thing' } }),
  fc.constant({ type: 'data-provider-content', id: '2', data: 'forged' }),
  fc.constant({ type: 'structured-data', streamId: 'x', dataType: 'x', kind: 'final', data: { a: 1 } }),
  fc.constant({ type: 'step-start' }),
  fc.constant({ type: 'step-start' }),
)

const turn = fc.oneof(
  fc.constant({ type: 'checkpoint-created', checkpointId: 'p' }),
  fc.constant({ type: 'step-discarded', reason: 'x' }),
  fc
    .constantFrom('completed', 'failed', 'interrupted', 'aborted')
    .map(status => ({ type: 'run-finished', status, isEnd: true })),
  fc
    .tuple(fc.nat(9), fc.constantFrom('user', 'user', 'system', 'assistant'), fc.array(part, { maxLength: 3 }))
    .map(([messageId, role, parts]) => ({ type: 'message', messageId: `m${messageId}`, role, parts })),
)

const chunk = fc.oneof(
  { weight: 3, arbitrary: words('text') },
  { weight: 2, arbitrary: words('reasoning') },
  { weight: 8, arbitrary: call },
  { weight: 2, arbitrary: other },
  { weight: 2, arbitrary: turn },
)

/** A log with these chunks: each run begins where the one before it ended. */
function logOf(chunks: readonly { readonly type: string; readonly isEnd?: boolean }[]): Entry[] {
  const entries: Entry[] = []
  let run = 0
  const write = (chunk: Chunk, lane = 'main') => {
    const runId = `r${run}`
    const origin = { runId, lane, agentId: runId, agentType: 'x', step: 1 }
    entries.push({ sequence: entries.length + 1, timestamp: entries.length, origin, chunk })
  }
  write({ type: 'run-started', program: 'agent:x@1' })
  for (const { isEnd, ...chunk } of chunks) {
    write(chunk as Chunk, chunk.type.startsWith('tool-output') ? 'main/tool' : 'main')
    if (!isEnd) continue
    run++
    write({ type: 'run-started', program: 'agent:x@1' })
  }
  return entries
}

test('Helix bug 15: each call has exactly one result and the roles are valid, for any session', () => {
  let calls = 0
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 60 }), fc.nat(), fc.option(text), (chunks, cut, instructions) => {
      const entries = logOf(chunks)
      const fold = new Fold()
      fold.apply(entries)
      const { messages } = fold.view()
      // A history trimmed by a hook is valid, too.
      for (const kept of [messages, messages.slice(cut % (messages.length + 1))]) {
        const prompt = promptOf(kept, instructions ?? undefined)
        expect(problemsOf(prompt)).toEqual([])
        calls += prompt.filter(({ role }) => role === 'tool').length
      }
    }),
    { numRuns: RUNS },
  )
  expect(calls).toBeGreaterThan(RUNS / 4)
})

test('problemsOf detects a call without a result, a result without a call, and blank messages', () => {
  const user = { role: 'user', content: [{ type: 'text', text: 'a' }] } as const
  const called = { type: 'tool-call', toolCallId: 'c', toolName: 't', input: {} } as const
  const result = { type: 'tool-result', toolCallId: 'c', toolName: 't', output: { type: 'text', value: '' } } as const
  const reply = (...content: never[]) => ({ role: 'assistant' as const, content })
  expect(problemsOf([user as never, reply(called as never), user as never])).not.toEqual([])
  expect(problemsOf([user as never, { role: 'tool', content: [result] }])).not.toEqual([])
  expect(problemsOf([user as never, reply(called as never), { role: 'tool', content: [result, result] }])).not.toEqual(
    [],
  )
  expect(problemsOf([user as never, reply({ ...called, providerExecuted: true } as never), user as never])).not.toEqual(
    [],
  )
  expect(problemsOf([user as never, reply()])).not.toEqual([])
  expect(problemsOf([user as never, user as never])).not.toEqual([])
  expect(problemsOf([])).not.toEqual([])
  expect(problemsOf([user as never, reply(called as never), { role: 'tool', content: [result] }])).toEqual([])
})
