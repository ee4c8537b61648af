// The AI SDK's response to a chat as documented, optionally stored by resumable-stream.
import { pipeUIMessageStreamToResponse, streamText, toUIMessageStream } from 'ai'
import { openContext } from '../log/answer-resumable.ts'
import { CurrentModel } from './current-model.ts'
import { listen } from './serve-plain.ts'
import type { AnswerServer } from './streaming.ts'

export async function serveAi(isResumable: boolean): Promise<AnswerServer> {
  const current = new CurrentModel()
  const context = isResumable ? await openContext() : undefined
  const port = await listen((request, response) => {
    const name = String(request.url)
    const { stream } = streamText({ model: current.model, prompt: 'Go.' })
    pipeUIMessageStreamToResponse({
      response,
      stream: toUIMessageStream({ stream }),
      ...(context && {
        consumeSseStream: async ({ stream: copy }) => {
          await context.createNewResumableStream(name, () => copy)
        },
      }),
    })
  })
  return current.serverAt(port)
}
