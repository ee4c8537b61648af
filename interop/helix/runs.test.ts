import { helixDialect, type StreamEvent } from '@millrace/dialects/helix'
import type { ToolPart } from '@millrace/protocol'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../scripts/faults/campaign.ts'
import { type RecordedRun, recordRun, scenarios } from '../recorded-runs.fixture.ts'
import { chunksIn, parseEvent } from './helix-client.fixture.ts'

/** Events of a run after a JSON round trip. */
function received(entries: RecordedRun['live'], { status }: RecordedRun): StreamEvent[] {
  const encoder = helixDialect.encoder()
  const events = [...entries.flatMap(entry => encoder.encode(entry)), ...encoder.end(status)]
  return events.map(event => parseEvent(JSON.stringify(event)))
}

const resyncsIn = (events: readonly StreamEvent[]) => chunksIn(events).filter(({ type }) => type === 'stream_resync')

/** Visible content of a run: text and reasoning of each agent, and the outcomes of calls. */
function contentOf(events: readonly StreamEvent[]) {
  const texts = new Map<string, string>()
  const thoughts = new Map<string, string[]>()
  const calls = new Map<string, unknown>()
  const writing = new Set<string>()
  for (const chunk of chunksIn(events)) {
    const { agentId } = chunk
    switch (chunk.type) {
      case 'text_delta':
        texts.set(agentId, (texts.get(agentId) ?? '') + chunk.delta)
        break
      case 'thinking':
        if (chunk.isComplete) thoughts.set(agentId, [...(thoughts.get(agentId) ?? []), chunk.content])
        break
      case 'tool_arg_stream_start':
        writing.add(chunk.toolCallId)
        break
      case 'tool_arg_stream_delta':
        expect(writing.has(chunk.toolCallId)).toBe(true)
        break
      case 'tool_arg_stream_end':
        expect(writing.delete(chunk.toolCallId)).toBe(true)
        break
      case 'tool_start':
        expect(writing.has(chunk.toolCallId)).toBe(false)
        calls.set(chunk.toolCallId, [chunk.toolName, chunk.arguments])
        break
      case 'tool_end':
        expect(calls.get(chunk.toolCallId)).toHaveLength(2)
        calls.set(chunk.toolCallId, [...(calls.get(chunk.toolCallId) as []), chunk.error ?? chunk.result])
        break
      case 'tool_input_error':
        calls.set(chunk.toolCallId, [chunk.toolName, chunk.error])
        break
      case 'tool_output_error':
      case 'suspension_marker':
        throw new Error(`${chunk.type}: this chunk must not be sent`)
      default:
    }
  }
  return { texts, thoughts, calls }
}

/** The expected result, from our view. */
function viewOf({ view, runId }: RecordedRun): ReturnType<typeof contentOf> {
  const texts = new Map<string, string>()
  const thoughts = new Map<string, string[]>()
  const calls = new Map<string, unknown>()
  for (const { parts, agentId, runId: messageRunId } of view.messages) {
    if (messageRunId !== runId || agentId === undefined) continue
    for (const part of parts) {
      if (part.type === 'text' && part.text !== '') texts.set(agentId, (texts.get(agentId) ?? '') + part.text)
      if (part.type === 'reasoning') thoughts.set(agentId, [...(thoughts.get(agentId) ?? []), part.text])
      if ('toolCallId' in part) calls.set(part.toolCallId, callOf(part))
    }
  }
  return { texts, thoughts, calls }
}

function callOf({ toolName, state, input, output, errorText, approval }: ToolPart): unknown {
  const outcome =
    state === 'output-available' ? output : state === 'output-denied' ? (approval?.reason ?? '') : errorText
  return [toolName, input, outcome]
}

/** Calls with incomplete input, and calls left open at the end of the run, have no outcome of their own. */
function settled(content: ReturnType<typeof contentOf>, { live }: RecordedRun) {
  const complete = new Set<string>()
  const ended = new Set<string>()
  for (const { chunk } of live) {
    if (chunk.type === 'tool-input-available') complete.add(chunk.toolCallId)
    if (chunk.type === 'tool-output-available' && !chunk.preliminary) ended.add(chunk.toolCallId)
    if (chunk.type === 'tool-output-error') ended.add(chunk.toolCallId)
  }
  const calls = [...content.calls].filter(([id]) => complete.has(id) && ended.has(id))
  return { ...content, calls: new Map(calls) }
}

test('every run follows the documented protocol, and live and late pages show our view', async () => {
  const property = fc.asyncProperty(scenarios, async scenario => {
    const run = await recordRun(scenario)
    const replay = received(run.replay, run)
    // Late readers get no discards of the run. All readers get the rewind that replaces an earlier run.
    const rewinds = run.live.filter(({ chunk }) => chunk.type === 'rewind')
    expect(resyncsIn(replay)).toHaveLength(rewinds.length)
    expect(settled(contentOf(replay), run)).toEqual(settled(viewOf(run), run))
    expect(replay.at(-1)?.type).toBe(run.status === 'failed' || run.status === 'aborted' ? 'fail' : 'end')
    const live = received(run.live, run)
    const discards = run.live.filter(({ chunk }) => chunk.type === 'step-discarded')
    expect(resyncsIn(live)).toHaveLength(rewinds.length + discards.length)
    if (discards.length === 0) expect(settled(contentOf(live), run)).toEqual(settled(viewOf(run), run))
  })
  await fc.assert(property, { numRuns: multiplied(60) })
})
