// A server of the AI SDK, as its documentation has it: `streamText`, and its stream of a message to the page.
import { getRequestListener } from '@hono/node-server'
import { convertToModelMessages, streamText, type UIMessage } from 'ai'
import { openFetched } from './fetched.ts'
import { speakingModel } from './model.ts'
import type { Server } from './served.ts'

export async function openAi(folder: string): Promise<Server> {
  return openFetched(folder, (incoming, outgoing, _answer, speech) =>
    getRequestListener(async request => {
      const { messages } = (await request.json()) as { messages: UIMessage[] }
      const model = speakingModel(() => speech)
      return streamText({ model, messages: await convertToModelMessages(messages) }).toUIMessageStreamResponse()
    })(incoming, outgoing),
  )
}
