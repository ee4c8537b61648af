import { millrace, scriptedModel, useInterrupt, useReason, workflow } from 'millrace'

const model = scriptedModel(({ lastText }) => ({ text: `We grind ${lastText}.` })) // any model of the AI SDK
const options = [
  { id: 'rye', label: 'Rye' },
  { id: 'oats', label: 'Oats' },
]

const order = workflow({
  id: 'order',
  nodes: {
    ask: async () => {
      const grain = await useInterrupt({ id: 'grain', request: { kind: 'choice', question: 'Which grain?', options } })
      return { data: { grain } }
    },
    grind: async ({ input }: { input: { grain: string } }) => {
      const { text } = await useReason({ id: 'grind', model, input: input.grain })
      return { data: { text } }
    },
  },
  edges: [
    ['start', 'ask'],
    ['ask', 'grind'],
    ['grind', 'end'],
  ],
})

export const app = millrace({ workflows: [order] })
