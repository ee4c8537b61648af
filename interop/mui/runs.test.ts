// Random runs over randomly cut connections, read by the MUI runtime.

import { chatMessagesOf, type MuiEvent, muiDialect, type ChatMessageChunk as Said } from '@millrace/dialects/mui'
import { messageIdOf } from '@millrace/protocol'
import { ChatStore } from '@mui/x-chat-headless/store'
import { processStream } from '@mui/x-chat-headless/stream'
import type { ChatMessage, ChatMessageChunk } from '@mui/x-chat-headless/types'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../scripts/faults/campaign.ts'
import { type RecordedRun, recordRun, replayOf, scenarios } from '../recorded-runs.fixture.ts'
import { messageIn, readThrough } from './read-through.fixture.ts'

const expected = ({ view, runId }: RecordedRun): Partial<ChatMessage> => {
  const message = chatMessagesOf(view).find(({ id }) => id === messageIdOf(runId, runId))
  const { parts, metadata, status } = message ?? { parts: [], status: 'sent' }
  return { parts, metadata, status } as Partial<ChatMessage>
}

test('law 2: for every run and any number of cuts, the MUI runtime shows the final state of the log', async () => {
  const property = fc.asyncProperty(
    scenarios,
    fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 4 }),
    fc.constantFrom(0, 1, 16),
    async (scenario, cuts, flushInterval) => {
      const run = await recordRun(scenario)
      const { store, reading, updates } = await readThrough(run, cuts, flushInterval)
      if (run.status === 'failed') await expect(reading).rejects.toThrow()
      else expect(await reading).toMatchObject({ isDisconnect: false, isError: false })
      expect(messageIn(store, run)).toEqual(expected(run))
      expect(store.state.isStreaming).toBe(false)
      // Also before the final correction: discarded text was already gone.
      expect(textsOf(updates.at(-1) ?? {})).toEqual(textsOf(expected(run)))
    },
  )
  await fc.assert(property, { numRuns: multiplied(60) })
})

const textsOf = ({ parts = [] }: Partial<ChatMessage>): string[] =>
  parts.flatMap(part => (part.type === 'text' || part.type === 'reasoning' ? [part.text] : []))

test('without the adapter, a replay is read to its end with the same texts and calls', async () => {
  const property = fc.asyncProperty(scenarios, async scenario => {
    const run = await recordRun(scenario)
    const events = replayOf(muiDialect, run) as MuiEvent[]
    const stream = new ReadableStream<ChatMessageChunk>({
      start(controller) {
        for (const event of events) controller.enqueue(event as Said as ChatMessageChunk)
        controller.close()
      },
    })
    const store = new ChatStore({})
    const result = await processStream(store, stream, { messageId: 'fallback', flushInterval: 0 })
    // It has no chunk for a failure, so the stream only lacks a successful end (law 7).
    expect(result.isDisconnect).toBe(run.status === 'failed')
    expect(textsAndCalls(messageIn(store, run))).toEqual(textsAndCalls(expected(run)))
  })
  await fc.assert(property, { numRuns: multiplied(30) })
})

/** Texts, and outcomes of calls. The MUI runtime has no field for an unparsable input. */
const textsAndCalls = ({ parts = [] }: Partial<ChatMessage>): unknown[] =>
  parts.flatMap((part): unknown[] => {
    if (part.type === 'text' || part.type === 'reasoning') return [part]
    if (part.type !== 'tool' && part.type !== 'dynamic-tool') return []
    const { toolCallId, toolName, input, output, errorText } = part.toolInvocation
    return [errorText === undefined ? { toolCallId, toolName, input, output } : { toolCallId, toolName }]
  })
