import { agent, type ScriptedAnswer, type ScriptedPrompt, tool } from 'millrace'
import { z } from 'zod'
import { modelOf } from '../model.ts'
import { outcomeOf } from './outcome.ts'

const Color = z.object({ color: z.string() })

const sendEmail = tool({
  name: 'send_email',
  description: 'Sends an email, once a person has approved it',
  inputSchema: z.object({ to: z.string(), subject: z.string(), body: z.string() }),
  // A person decides, but of what cannot be nobody need be asked.
  approval: ({ to }) => !to.endsWith('.invalid') || { approved: false, reason: 'There is no such address.' },
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
  description: 'What time it is where the user is',
  inputSchema: z.object({}),
  outputSchema: Time,
  client: true,
})

function answer(prompt: ScriptedPrompt): ScriptedAnswer {
  const { lastText, turnAnswers } = prompt
  const [wantsMail, wantsColor, wantsTime] = [/mail/i, /colou?r/i, /time/i].map(word => word.test(lastText))
  const isAnything = !(wantsMail || wantsColor || wantsTime)
  const to = /[\w.+-]+@[\w-]+(\.[\w-]+)+/.exec(lastText)?.[0] ?? 'ann@example.com'
  const email = { name: 'send_email', input: { to, subject: 'From the mill', body: lastText } }
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
    local_time: () => told(prompt),
  }
  return { text: wanted.map(({ name }) => lines[name as keyof typeof lines]()).join(' ') }
}

function mailed(prompt: ScriptedPrompt, to: string): string {
  const outcome = outcomeOf(prompt, 'send_email')
  if (outcome?.type === 'json') return `The email to ${to} is sent.`
  if (outcome?.type !== 'execution-denied') return `The email to ${to} could not be sent.`
  return `The email to ${to} was denied${outcome.reason ? `: ${outcome.reason}` : '.'}`
}

function chosen(prompt: ScriptedPrompt): string {
  const outcome = outcomeOf(prompt, 'choose_color')
  return outcome?.type === 'json' ? `You chose ${Color.parse(outcome.value).color}.` : 'No color was chosen.'
}

function told(prompt: ScriptedPrompt): string {
  const outcome = outcomeOf(prompt, 'local_time')
  if (outcome?.type !== 'json') return 'I do not know what time it is where you are.'
  const { time, timeZone } = Time.parse(outcome.value)
  return `It is ${time} where you are (${timeZone}).`
}

/** Asks a person before it sends an email, and a client which color it is to be or what time it is there. */
export const operator = agent({
  name: 'operator',
  model: modelOf(answer),
  instructions: [
    'Send emails, let the user choose a color, and tell the time, as you are told: one after the other.',
    'Somebody else asks for approval, so call the tools at once. Write to ann@example.com if no address is named; offer red, green and blue.',
    'Then say in one sentence each what came of it; of an email that was denied, also why. Do not try again what was denied.',
  ].join('\n'),
  tools: [sendEmail, chooseColor, localTime],
})
