import { agent, type ScriptedAnswer, type ScriptedPrompt, tool } from 'millrace'
import { z } from 'zod'
import { modelOf } from '../model.ts'
import { outcomeOf } from './outcome.ts'

const Color = z.object({ color: z.string() })

const sendEmail = tool({
  name: 'send_email',
  description: 'Sends an email after a person has approved it',
  inputSchema: z.object({ to: z.string(), subject: z.string(), body: z.string() }),
  // Addresses that cannot exist are denied by rule. All others need an approval.
  approval: ({ to }) => !to.endsWith('.invalid') || { approved: false, reason: 'This address does not exist.' },
  execute: ({ to, subject }) => ({ sent: true, to, subject }),
})

const chooseColor = tool({
  name: 'choose_color',
  description: 'Lets the user choose a color on the screen',
  inputSchema: z.object({ options: z.array(z.string()) }),
  outputSchema: Color,
  client: true,
})

const Time = z.object({ time: z.string(), timeZone: z.string() })

const localTime = tool({
  name: 'local_time',
  description: 'Returns the local time of the user',
  inputSchema: z.object({}),
  outputSchema: Time,
  client: true,
})

function answer(prompt: ScriptedPrompt): ScriptedAnswer {
  const { lastText, turnAnswers } = prompt
  const [wantsMail, wantsColor, wantsTime] = [/mail/i, /colou?r/i, /time/i].map(word => word.test(lastText))
  const isAnything = !(wantsMail || wantsColor || wantsTime)
  const to = /[\w.+-]+@[\w-]+(\.[\w-]+)+/.exec(lastText)?.[0] ?? 'ann@example.com'
  const email = { name: 'send_email', input: { to, subject: 'Hello from Millrace', body: lastText } }
  const color = { name: 'choose_color', input: { options: ['red', 'green', 'blue'] } }
  const wanted = [
    ...(wantsMail || isAnything ? [email] : []),
    ...(wantsColor || isAnything ? [color] : []),
    ...(wantsTime ? [{ name: 'local_time', input: {} }] : []),
  ]
  const next = wanted[turnAnswers]
  if (next) return { calls: [next] }
  const lines = {
    send_email: () => mailed(prompt, to),
    choose_color: () => chosen(prompt),
    local_time: () => localTimeText(prompt),
  }
  return { text: wanted.map(({ name }) => lines[name as keyof typeof lines]()).join(' ') }
}

function mailed(prompt: ScriptedPrompt, to: string): string {
  const outcome = outcomeOf(prompt, 'send_email')
  if (outcome?.type === 'json') return `The email to ${to} was sent.`
  if (outcome?.type !== 'execution-denied') return `The email to ${to} could not be sent.`
  return `The email to ${to} was denied${outcome.reason ? `: ${outcome.reason}` : '.'}`
}

function chosen(prompt: ScriptedPrompt): string {
  const outcome = outcomeOf(prompt, 'choose_color')
  return outcome?.type === 'json' ? `You chose ${Color.parse(outcome.value).color}.` : 'No color was chosen.'
}

function localTimeText(prompt: ScriptedPrompt): string {
  const outcome = outcomeOf(prompt, 'local_time')
  if (outcome?.type !== 'json') return 'I could not get your local time.'
  const { time, timeZone } = Time.parse(outcome.value)
  return `It is ${time} where you are (${timeZone}).`
}

/** Sends emails after an approval, and uses client tools to pick a color or get the local time. */
export const operator = agent({
  name: 'operator',
  model: modelOf(answer),
  instructions: [
    'Send emails, let the user choose a color, and give the local time, as requested, one after the other.',
    'Call the tools at once: the approval is requested for you. Write to ann@example.com if the user gives no address. Offer red, green and blue.',
    'Then report each result in one sentence, with the reason for a denied email. Do not retry a denied call.',
  ].join('\n'),
  tools: [sendEmail, chooseColor, localTime],
})
