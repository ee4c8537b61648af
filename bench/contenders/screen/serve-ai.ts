// A server of the AI SDK as documented: `streamText` and its UI message stream.
import { getRequestListener } from '@hono/node-server'
import { convertToModelMessages, streamText, type UIMessage } from 'ai'
import { scriptedModel } from './model.ts'
import type { SystemServer } from './open-server.ts'
import { openPeerServer } from './peer-server.ts'

export async function openAi(folder: string): Promise<SystemServer> {
  return openPeerServer(folder, (incoming, outgoing, _answer, script) =>
    getRequestListener(async request => {
      const { messages } = (await request.json()) as { messages: UIMessage[] }
      const model = scriptedModel(() => script)
      return streamText({ model, messages: await convertToModelMessages(messages) }).toUIMessageStreamResponse()
    })(incoming, outgoing),
  )
}
