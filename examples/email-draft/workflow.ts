import { type Model, type NodeContext, type Script, scriptedModel, useInterrupt, useReason, workflow } from 'millrace'
import { z } from 'zod'

export const Email = z.object({
  subject: z.string().max(40),
  body: z.string(),
  bullets: z.array(z.string()).min(1),
})

const tones = [
  { id: 'warm', label: 'Warm', description: 'Friendly and personal' },
  { id: 'formal', label: 'Formal', description: 'Polite and professional' },
]

/** Script of the offline model: deterministic, in pieces of a few characters. */
export const draftScript: Script = ({ lastText, turnAnswers }) => ({
  text: JSON.stringify(draftOf(lastText, turnAnswers)),
  pieceLength: 6,
})

function draftOf(request: string, answers: number): z.infer<typeof Email> {
  const bullets = ['Saturday, three o’clock', 'At the mill', 'Bring a cake']
  if (request.startsWith('Write a warm')) {
    return { subject: 'Come to the mill!', body: 'Dear Ann,\n\nit would not be a party without you.', bullets }
  }
  // The first subject is longer than the schema allows: it is refused, and the model corrects it.
  const subject = answers === 0 ? 'Invitation to the festivities on the occasion of our anniversary' : 'Invitation'
  return { subject, body: 'Dear Ms Smith,\n\nwe request the pleasure of your company.', bullets }
}

/** The workflow, with the model that writes. */
export const emailDraftWith = (model: Model) =>
  workflow({
    id: 'email-draft',
    nodes: {
      ask: {
        title: 'Asking for the tone',
        run: async ({ input }: NodeContext<string>) => {
          const question = 'Which tone should the email have?'
          const tone = await useInterrupt({ id: 'tone', request: { kind: 'choice', question, options: tones } })
          return { data: { tone, about: input } }
        },
      },
      draft: {
        title: 'Writing the draft',
        run: async ({ input }: NodeContext<{ tone: string; about: string }>) => {
          const { output } = await useReason({
            model,
            system: 'You write emails, as JSON.',
            input: `Write a ${input.tone} email: ${input.about}`,
            outputSchema: Email,
            structured: { dataType: 'email', fields: { subject: 'set', body: 'text-delta', bullets: 'append' } },
          })
          return { data: output }
        },
      },
    },
    edges: [
      ['start', 'ask'],
      ['ask', 'draft'],
      ['draft', 'end'],
    ],
  })

export const emailDraft = emailDraftWith(scriptedModel(draftScript, { paceMs: 20 }))
