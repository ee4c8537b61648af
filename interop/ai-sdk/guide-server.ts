import { agent, millrace, scriptedModel, tool } from 'millrace'
import { z } from 'zod'

const sell = tool({
  name: 'sell',
  inputSchema: z.object({ what: z.string() }),
  approval: true,
  execute: ({ what }) => what,
})

const seller = agent({
  name: 'seller',
  tools: [sell],
  model: scriptedModel(({ turnAnswers }) =>
    turnAnswers === 0 ? { calls: [{ name: 'sell', input: { what: 'flour' } }] } : { text: 'Here it is.' },
  ), // the `model` of your streamText call
})

export const app = millrace({ agents: [seller] })
