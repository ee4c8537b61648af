import { agent, millrace, scriptedModel, tool } from 'millrace'
import { z } from 'zod'

const model = scriptedModel(({ turnAnswers }) =>
  turnAnswers === 0 ? { calls: [{ name: 'sell', input: { what: 'flour' } }] } : { text: 'Sold.' },
) // any model of the AI SDK

const sell = tool({
  name: 'sell',
  inputSchema: z.object({ what: z.string() }),
  approval: true, // requireApproval
  execute: ({ what }) => ({ sold: what }),
})

const miller = agent({ name: 'miller', model, tools: [sell] })

export const app = millrace({ agents: [miller] })
