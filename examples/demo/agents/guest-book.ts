import { type NodeContext, useInterrupt, useReason, workflow } from 'millrace'
import { z } from 'zod'
import { modelOf } from '../model.ts'

const sights = [
  { id: 'wheel', label: 'The wheel' },
  { id: 'stones', label: 'The stones', description: 'On the second floor' },
  { id: 'race', label: 'The race', description: 'The channel that leads the water to the wheel' },
]

const Line = z.object({
  stars: z.enum(['one', 'two', 'three']).meta({ title: 'Stars' }),
  visitors: z.number().int().min(1).meta({ title: 'Number of visitors' }),
  again: z.boolean().meta({ title: 'I would visit again' }),
  note: z.string().meta({ title: 'Note' }).optional(),
})

const model = modelOf(({ lastText }) => ({ text: lastText }))

/** A workflow with every kind of question: text, choice, multiple choice and form. */
export const guestBook = workflow({
  id: 'guest-book',
  nodes: {
    ask: {
      title: 'Asking questions',
      run: async (_: NodeContext<string>) => {
        const name = await useInterrupt({ id: 'name', request: { kind: 'text', question: 'What is your name?' } })
        const best = await useInterrupt({
          id: 'best',
          request: { kind: 'choice', question: 'What did you like best?', options: sights },
        })
        const seen = await useInterrupt({
          id: 'seen',
          request: { kind: 'multi-choice', question: 'What did you see?', options: sights },
        })
        const line = await useInterrupt({
          id: 'line',
          request: { kind: 'form', question: 'How was it?' },
          responseSchema: Line,
        })
        return { data: { name, best, seen, line } }
      },
    },
    thank: {
      title: 'Writing the entry',
      run: async ({
        input,
      }: NodeContext<{ name: string; best: string; seen: string[]; line: z.infer<typeof Line> }>) => {
        const { name, best, seen, line } = input
        const counted = `${line.visitors} ${line.visitors === 1 ? 'visitor' : 'visitors'}, ${line.stars} of three stars`
        const { text } = await useReason({
          model,
          system:
            'Write what the keeper of a mill says to a visitor: say this in one or two sentences, and nothing else.',
          input: `Thank you, ${name}! ${counted}. You saw ${seen.join(', ') || 'nothing'}, and liked the ${best} best.`,
        })
        return { data: text }
      },
    },
  },
  edges: [
    ['start', 'ask'],
    ['ask', 'thank'],
    ['thank', 'end'],
  ],
})
