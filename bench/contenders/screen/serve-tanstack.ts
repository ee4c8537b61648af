// A server of TanStack AI, as its documentation has it: `chat()` with an adapter that follows the script.
import { getRequestListener } from '@hono/node-server'
import {
  type AdapterYieldChunk,
  type AnyTextAdapter,
  chat,
  chatParamsFromRequest,
  EventType,
  toServerSentEventsResponse,
} from '@tanstack/ai'
import { openPeerServer } from './peer-server.ts'
import type { ScriptedAnswers } from './scripted-answers.ts'
import type { Server } from './served.ts'

/** An adapter that says one answer. */
const adapterOf = (script: ScriptedAnswers, answer: number): AnyTextAdapter => ({
  kind: 'text',
  name: 'bench',
  model: 'bench',
  '~types': undefined as never,
  async *chatStream() {
    // What its own adapters yield has more fields than its types know of.
    const event = (type: EventType, more: object) =>
      ({ type, timestamp: Date.now(), model: 'bench', ...more }) as unknown as AdapterYieldChunk
    const [run, messageId] = [{ runId: `model-${answer}`, threadId: '' }, `answer-${answer}`]
    yield event(EventType.RUN_STARTED, run)
    yield event(EventType.TEXT_MESSAGE_START, { messageId, role: 'assistant' })
    for await (const delta of tokens(script, answer)) yield event(EventType.TEXT_MESSAGE_CONTENT, { messageId, delta })
    yield event(EventType.TEXT_MESSAGE_END, { messageId })
    yield event(EventType.RUN_FINISHED, { ...run, finishReason: 'stop' })
  },
  structuredOutput: () => Promise.reject(new Error('it only streams')),
})

/** The tokens as an adapter reads them of its provider: they come, read or not. */
function tokens(script: ScriptedAnswers, answer: number): ReadableStream<string> {
  return new ReadableStream({
    start(controller) {
      script
        .speak(answer, token => controller.enqueue(token))
        .then(() => controller.close())
        .catch(error => controller.error(error))
    },
  })
}

export async function openTanstack(folder: string): Promise<Server> {
  return openPeerServer(folder, (incoming, outgoing, answer, script) =>
    getRequestListener(async request => {
      const { messages, threadId, runId } = await chatParamsFromRequest(request)
      const adapter = adapterOf(script, answer)
      // The messages of the page are wider than those of an adapter that has no types.
      const stream = chat({ adapter, messages: messages as never, threadId, runId, debug: false })
      return toServerSentEventsResponse(stream)
    })(incoming, outgoing),
  )
}
