// The AI SDK's reply to a chat; as its pages show it, also kept for who comes later by resumable-stream.
import { pipeUIMessageStreamToResponse, streamText, toUIMessageStream } from 'ai'
import { openContext } from '../log/answer-resumable.ts'
import { Asked } from './give-peer.ts'
import { listening } from './give-plain.ts'
import type { Giving } from './streaming.ts'

export async function giveAi(isResumable: boolean): Promise<Giving> {
  const asked = new Asked()
  const context = isResumable ? await openContext() : undefined
  const port = await listening((request, response) => {
    const name = String(request.url)
    const { stream } = streamText({ model: asked.model, prompt: 'Go.' })
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
  return asked.givingAt(port)
}
