// A server of TanStack AI as documented: `chat()` with a scripted adapter.
import { getRequestListener } from '@hono/node-server'
import {
  type AdapterYieldChunk,
  type AnyTextAdapter,
  chat,
  chatParamsFromRequest,
  EventType,
  toServerSentEventsResponse,
} from '@tanstack/ai'
import type { SystemServer } from './open-server.ts'
import { openPeerServer } from './peer-server.ts'
import type { ScriptedAnswers } from './scripted-answers.ts'

/** An adapter that produces one answer. */
const adapterOf = (script: ScriptedAnswers, answer: number): AnyTextAdapter => ({
  kind: 'text',
  name: 'bench',
  model: 'bench',
  '~types': undefined as never,
  async *chatStream() {
    // Its own adapters yield more fields than its types declare.
    const event = (type: EventType, more: object) =>
      ({ type, timestamp: Date.now(), model: 'bench', ...more }) as unknown as AdapterYieldChunk
    const [run, messageId] = [{ runId: `model-${answer}`, threadId: '' }, `answer-${answer}`]
    yield event(EventType.RUN_STARTED, run)
    yield event(EventType.TEXT_MESSAGE_START, { messageId, role: 'assistant' })
    for await (const delta of tokens(script, answer)) yield event(EventType.TEXT_MESSAGE_CONTENT, { messageId, delta })
    yield event(EventType.TEXT_MESSAGE_END, { messageId })
    yield event(EventType.RUN_FINISHED, { ...run, finishReason: 'stop' })
  },
  structuredOutput: () => Promise.reject(new Error('structuredOutput is not supported: use chatStream')),
})

/** Tokens as an adapter reads them from its provider, independent of how fast they are read. */
function tokens(script: ScriptedAnswers, answer: number): ReadableStream<string> {
  return new ReadableStream({
    start(controller) {
      script
        .produce(answer, token => controller.enqueue(token))
        .then(() => controller.close())
        .catch(error => controller.error(error))
    },
  })
}

export async function openTanstack(folder: string): Promise<SystemServer> {
  return openPeerServer(folder, (incoming, outgoing, answer, script) =>
    getRequestListener(async request => {
      const { messages, threadId, runId } = await chatParamsFromRequest(request)
      const adapter = adapterOf(script, answer)
      // The page sends more kinds of messages than an untyped adapter declares.
      const stream = chat({ adapter, messages: messages as never, threadId, runId, debug: false })
      return toServerSentEventsResponse(stream)
    })(incoming, outgoing),
  )
}
