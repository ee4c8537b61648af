import { kortyxDialect, type StreamChunk } from '@millrace/dialects/kortyx'
import { StreamChunkSchema } from '@millrace/dialects/kortyx/schemas'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../scripts/faults/campaign.ts'
import { connectionsOf, type RecordedRun, recordRun, scenarios } from '../recorded-runs.fixture.ts'
import { ReceivedMessage } from './kortyx-page.fixture.ts'
import type { KortyxState } from './kortyx-reducer.fixture.ts'

const encoder = () => kortyxDialect.encoder({ sessionId: 'session', turnIndex: 1 })

/** State of a page from chunks after a JSON round trip. */
function receivedIn(events: readonly StreamChunk[]): ReceivedMessage {
  const received = new ReceivedMessage()
  for (const event of events)
    received.onChunk(StreamChunkSchema.parse(JSON.parse(JSON.stringify(event))) as StreamChunk)
  expect(received.isDone).toBe(true)
  expectOrder(events.filter(event => event.type !== 'tool-result'))
  return received
}

const CLOSING: ReadonlySet<string> = new Set(['interrupt', 'error', 'checkpoint', 'done'])

/** Expects the session first; texts and calls start before they continue and end once; then interrupts or an error, the checkpoint, and done. */
function expectOrder(events: readonly StreamChunk[]): void {
  const types = events.map(({ type }) => type)
  expect(types[0]).toBe('session')
  expect(types.indexOf('done')).toBe(types.length - 1)
  const closing = types.slice(types.findIndex(type => CLOSING.has(type))).join(' ')
  expect(closing).toMatch(/^(error |(interrupt )*(checkpoint )?)done$/)
  const texts = new Set<string>()
  const calls = new Set<string>()
  for (const event of events) {
    switch (event.type) {
      case 'text-start':
        expect(texts.has(`${event.segmentId}`)).toBe(false)
        texts.add(`${event.segmentId}`)
        break
      case 'text-delta':
        expect(texts.has(`${event.segmentId}`)).toBe(true)
        break
      case 'text-end':
        expect(texts.delete(`${event.segmentId}`)).toBe(true)
        break
      case 'tool-call-start':
        expect(calls.has(event.toolCallId)).toBe(false)
        calls.add(event.toolCallId)
        break
      case 'tool-call-result':
      case 'tool-call-error':
        // The call of a discarded attempt can start again.
        calls.delete(event.toolCallId)
        break
      default:
    }
  }
  expect([...texts]).toEqual([])
}

/** The part of the view that a Kortyx page shows: text of the root agent, and all structured objects. */
function viewOf({ view, runId }: RecordedRun) {
  const { parts = [] } = view.messages.find(message => message.runId === runId && message.agentId === runId) ?? {}
  const text = parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('')
  return { text, structured: view.structured.map(({ streamId, status, data }) => ({ streamId, status, data })) }
}

function contentOf(all: readonly ReceivedMessage[]) {
  const structured = new Map<string, KortyxState>()
  for (const { structured: some } of all) for (const [id, state] of some) structured.set(id, state)
  return {
    text: all.map(({ text }) => text).join(''),
    structured: [...structured.values()].map(({ streamId, status, data }) => ({ streamId, status, data })),
  }
}

test('every run, live and replayed, is an ordered Kortyx stream, has all pending interrupts, and shows our view', async () => {
  const property = fc.asyncProperty(scenarios, async scenario => {
    const run = await recordRun(scenario)
    const connections = connectionsOf(encoder(), run).map(receivedIn)
    expectInterrupts(connections, run)
    const late = encoder()
    const replay = [...run.replay.flatMap(entry => late.encode(entry)), ...late.end(run.status)]
    expect(contentOf([receivedIn(replay)])).toEqual(viewOf(run))
    // Discarded text stays on the screen of live readers, discarded structured objects do not.
    const isTakenBack = run.live.some(({ chunk }) => chunk.type === 'step-discarded')
    const { text, structured } = contentOf(connections)
    expect(structured).toEqual(viewOf(run).structured)
    if (!isTakenBack) expect(text).toBe(viewOf(run).text)
  })
  await fc.assert(property, { numRuns: multiplied(60) })
})

/** Expects that each connection but the last ends with interrupts for all pendings of its run. */
function expectInterrupts(connections: readonly ReceivedMessage[], { live }: RecordedRun): void {
  const awaited = live.flatMap(({ chunk }) =>
    chunk.type === 'run-paused'
      ? [chunk.awaits.flatMap(({ kind, id }) => (kind === 'children' ? [] : [id])).sort()]
      : [],
  )
  const questions = connections.map(({ pieces }) =>
    pieces.flatMap(piece => (piece.type === 'interrupt' ? [piece.chunk.requestId] : [])).sort(),
  )
  expect(questions.slice(0, awaited.length)).toEqual(awaited)
  expect(questions.slice(awaited.length).flat()).toEqual([])
}
