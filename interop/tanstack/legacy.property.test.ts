import { isMillraceStreamChunk, type TanstackChunk, tanstackDialect } from '@millrace/dialects/tanstack'
import type { Message } from '@millrace/protocol'
import * as fc from 'fast-check'
import { type StreamChunk, StreamProcessor, type UIMessage } from 'seed-tanstack-ai'
import { expect, test } from 'vitest'
import { multiplied } from '../../scripts/faults/campaign.ts'
import { connectionsOf, type RecordedRun, recordRun, replayOf, scenarios } from '../recorded-runs.fixture.ts'
import { expectOrder } from './expect-order.fixture.ts'

const MODES = ['cumulative', 'empty'] as const

test.each(MODES)('every run is ordered, and its own processor accepts it (content: %s)', async content => {
  const property = fc.asyncProperty(scenarios, async scenario => {
    const run = await recordRun(scenario)
    const connections = connectionsOf(tanstackDialect.encoder({ content }), run)
    for (const events of connections) expectOrder(events)
    processed(connections)
    expectRequests(connections, run)
  })
  await fc.assert(property, { numRuns: multiplied(40) })
})

test.each(MODES)('its own processor shows the content of the view (content: %s)', async content => {
  const property = fc.asyncProperty(scenarios, async scenario => {
    const run = await recordRun(scenario)
    const replay = replayOf({ ...tanstackDialect, encoder: () => tanstackDialect.encoder({ content }) }, run)
    expectOrder(replay)
    expectSameContent(processed([replay]), run)
    // Live, a discarded attempt stays on the screen: the protocol has no retraction.
    if (run.live.some(({ chunk }) => chunk.type === 'step-discarded')) return
    expectSameContent(processed(connectionsOf(tanstackDialect.encoder({ content }), run)), run)
  })
  await fc.assert(property, { numRuns: multiplied(40) })
})

/** Messages of a client after some connections, one per connection. */
function processed(connections: readonly (readonly TanstackChunk[])[]): UIMessage[] {
  const processor = new StreamProcessor()
  for (const events of connections) {
    processor.startAssistantMessage()
    for (const event of events) processor.processChunk(JSON.parse(JSON.stringify(event)) as StreamChunk)
    processor.finalizeStream()
  }
  return processor.getMessages()
}

/** Expects that exactly the connections of a paused run end with requests for all its pendings. */
function expectRequests(connections: readonly (readonly TanstackChunk[])[], { live }: RecordedRun): void {
  const awaited = live.flatMap(({ chunk }) =>
    chunk.type === 'run-paused'
      ? [chunk.awaits.flatMap(({ kind, id }) => (kind === 'interrupt' || kind === 'children' ? [] : [id])).sort()]
      : [],
  )
  const questions = connections.map(events =>
    events
      .flatMap(event =>
        event.type === 'approval-requested'
          ? [event.approval.id]
          : event.type === 'tool-input-available'
            ? [event.toolCallId]
            : [],
      )
      .sort(),
  )
  expect(questions.slice(0, awaited.length)).toEqual(awaited)
  expect(questions.slice(awaited.length).flat()).toEqual([])
}

type VisiblePart = { readonly text: string } | { readonly call: string; readonly input: unknown }

/** Texts and calls in order, with adjacent texts joined. */
function joined(parts: readonly VisiblePart[]): VisiblePart[] {
  const found: VisiblePart[] = []
  for (const part of parts) {
    const last = found.at(-1)
    if ('text' in part && last && 'text' in last) found[found.length - 1] = { text: last.text + part.text }
    else if (!('text' in part) || part.text !== '') found.push(part)
  }
  return found
}

function expectSameContent(messages: readonly UIMessage[], { view, runId }: RecordedRun): void {
  const ours = view.messages.filter((message): message is Message => message.runId === runId && message.role !== 'user')
  const mainParts = ours
    .filter(({ agentId }) => agentId === undefined || agentId === runId)
    .flatMap(({ parts }) => parts)
  const calls = mainParts.filter(part => 'toolCallId' in part)
  const callIds = new Set<string>(calls.map(({ toolCallId }) => toolCallId))
  const parts = messages.flatMap(message => message.parts)

  const theirs = parts.flatMap((part): VisiblePart[] => {
    if (part.type === 'text') return [{ text: part.content }]
    // The call of a sub-agent is shown only with its approval.
    return part.type === 'tool-call' && callIds.has(part.id)
      ? [{ call: part.id, input: JSON.parse(part.arguments) }]
      : []
  })
  const expected = mainParts.flatMap((part): VisiblePart[] => {
    if (part.type === 'text') return [{ text: part.text }]
    return 'toolCallId' in part ? [{ call: part.toolCallId, input: part.input }] : []
  })
  expect(joined(theirs)).toEqual(joined(expected))

  const thought = parts.flatMap(part => (part.type === 'thinking' ? [part.content] : [])).join('')
  expect(thought).toBe(mainParts.flatMap(part => (part.type === 'reasoning' ? [part.text] : [])).join(''))

  const results = new Map(
    parts.flatMap(part => (part.type === 'tool-result' ? [[part.toolCallId, part.content] as const] : [])),
  )
  for (const part of calls) {
    const result = results.get(part.toolCallId)
    if (part.state === 'output-available' && result !== undefined)
      expect(result).toBe(typeof part.output === 'string' ? part.output : JSON.stringify(part.output))
    if (part.state === 'output-error' && result !== undefined)
      expect(JSON.parse(result)).toEqual({ error: part.errorText })
    if (part.state === 'output-denied') expect(JSON.parse(result ?? 'null')).toEqual({ error: expect.any(String) })
  }
}

test('chunks without a message part are passed to `onChunk`', async () => {
  const property = fc.asyncProperty(scenarios, async scenario => {
    const run = await recordRun(scenario)
    const events = replayOf(tanstackDialect, run).filter(isMillraceStreamChunk)
    const kinds = new Set(events.map(({ chunk }) => chunk.type))
    for (const { chunk } of run.replay) {
      if (chunk.type === 'source-url' || chunk.type === 'file' || chunk.type === 'structured-data')
        expect(kinds.has(chunk.type)).toBe(true)
    }
  })
  await fc.assert(property, { numRuns: multiplied(10) })
})
