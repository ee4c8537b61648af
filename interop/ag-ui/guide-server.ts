import { agent, millrace, scriptedModel, tool } from 'millrace'
import { z } from 'zod'

const model = scriptedModel(({ turnAnswers }) =>
  turnAnswers === 0 ? { text: 'May I?', calls: [{ name: 'sell', input: { what: 'flour' } }] } : { text: 'Sold.' },
) // any model of the AI SDK

const sell = tool({
  name: 'sell',
  inputSchema: z.object({ what: z.string() }),
  approval: true,
  execute: ({ what }) => ({ sold: what }),
})

export const app = millrace({ agents: [agent({ name: 'miller', model, tools: [sell] })] })
