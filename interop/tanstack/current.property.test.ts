import { type AgUiEvent, aguiMessagesOf } from '@millrace/dialects/ag-ui'
import { TanstackAgUiEncoder, tanstackAgUiDialect, tanstackMessagesOf } from '@millrace/dialects/tanstack'
import type { Message } from '@millrace/protocol'
import { type StreamChunk, StreamProcessor, type UIMessage } from '@tanstack/ai'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../scripts/faults/campaign.ts'
import { connectionsOf, type RecordedRun, recordRun, replayOf, scenarios } from '../recorded-runs.fixture.ts'

test('its own processor shows the content of the view, live and replayed', async () => {
  const property = fc.asyncProperty(scenarios, async scenario => {
    const run = await recordRun(scenario)
    expectSameContent(processed([replayOf(tanstackAgUiDialect, run)]), run)
    const encoder = new TanstackAgUiEncoder()
    encoder.setBefore({ messages: aguiMessagesOf(run.before), isNew: false })
    const before = tanstackMessagesOf(run.before) as unknown as UIMessage[]
    const messages = processed(connectionsOf(encoder, run), before)
    // After a discard the earlier content is sent again with other ids.
    expect(textsOf(messages.slice(0, before.length))).toEqual(textsOf(before))
    expectSameContent(messages.slice(before.length), run)
    // A page that is opened later gets the same content.
    const later = tanstackMessagesOf(run.view) as unknown as UIMessage[]
    expectSameContent(later.slice(before.length), run)
  })
  await fc.assert(property, { numRuns: multiplied(40) })
})

test('each connection has all pending interrupts of its run and ends once', async () => {
  const property = fc.asyncProperty(scenarios, async scenario => {
    const run = await recordRun(scenario)
    const connections = connectionsOf(tanstackAgUiDialect.encoder(), run)
    const awaited = run.live.flatMap(({ chunk }) => (chunk.type === 'run-paused' ? [chunk.awaits.length] : []))
    const questionCounts = connections.map(events => {
      const last = events.at(-1)
      expect(last?.type).toMatch(/^RUN_(FINISHED|ERROR)$/)
      expect(events.filter(({ type }) => type === 'RUN_FINISHED' || type === 'RUN_ERROR').length).toBe(1)
      return last?.type === 'RUN_FINISHED' && last.outcome?.type === 'interrupt' ? last.outcome.interrupts.length : 0
    })
    expect(questionCounts).toEqual([...awaited, ...questionCounts.slice(awaited.length).map(() => 0)])
  })
  await fc.assert(property, { numRuns: multiplied(20) })
})

test('extensions of AG-UI do not change the decoded chunks', async () => {
  const json = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T
  const property = fc.asyncProperty(scenarios, async scenario => {
    const run = await recordRun(scenario)
    for (const entries of [run.live, run.replay]) {
      const encoder = tanstackAgUiDialect.encoder()
      const decoder = tanstackAgUiDialect.decoder()
      const events = [...entries.flatMap(entry => encoder.encode(entry)), ...encoder.end(run.status)]
      const chunks = events.flatMap(event => decoder.decode(json(event)).map(({ chunk }) => chunk))
      expect(chunks).toEqual(entries.map(({ chunk }) => chunk))
      expect(decoder.status).toBe(run.status)
    }
  })
  await fc.assert(property, { numRuns: multiplied(20) })
})

function processed(connections: readonly (readonly AgUiEvent[])[], before: UIMessage[] = []): UIMessage[] {
  const processor = new StreamProcessor({ initialMessages: before })
  for (const events of connections) {
    for (const event of events) processor.processChunk(JSON.parse(JSON.stringify(event)) as StreamChunk)
    processor.finalizeStream()
  }
  return processor.getMessages()
}

const textsOf = (messages: readonly UIMessage[]) =>
  messages.map(({ role, parts }) => [role, ...parts.map(part => ('content' in part ? part.content : part.type))])

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
  const parts = messages.filter(({ role }) => role === 'assistant').flatMap(message => message.parts)

  const theirs = parts.flatMap((part): VisiblePart[] => {
    if (part.type === 'text') return [{ text: part.content }]
    return part.type === 'tool-call' ? [{ call: part.id, input: JSON.parse(part.arguments) }] : []
  })
  const expected = mainParts.flatMap((part): VisiblePart[] => {
    if (part.type === 'text') return [{ text: part.text }]
    return 'toolCallId' in part ? [{ call: part.toolCallId, input: part.input }] : []
  })
  expect(joined(theirs)).toEqual(joined(expected))

  const thought = parts.flatMap(part => (part.type === 'thinking' ? [part.content] : [])).join('')
  expect(thought).toBe(mainParts.flatMap(part => (part.type === 'reasoning' ? [part.text] : [])).join(''))

  const states = new Map(parts.flatMap(part => (part.type === 'tool-call' ? [[part.id, part.state] as const] : [])))
  for (const { toolCallId, state } of calls) {
    if (state === 'output-available') expect(states.get(toolCallId)).toBe('complete')
    if (state === 'output-error' || state === 'output-denied')
      expect(states.get(toolCallId)).toMatch(/^(error|complete)$/)
  }
}
