import { openStore } from '@millrace/log'
import { agent, createRuntime, scriptedModel, subAgent, tool } from '@millrace/runtime'
import { z } from 'zod'

// `approval.ts s1` starts or continues; `approval.ts s1 yes` or `approval.ts s1 no "why not"` answers the approval.
const [, , session = crypto.randomUUID(), decision, reason] = process.argv
const refund = tool({
  name: 'refund',
  description: 'Pays money back',
  inputSchema: z.object({ order: z.string(), euros: z.number() }),
  approval: ({ euros }) => euros > 20,
  execute: ({ order, euros }) => `${euros} euros paid back for ${order}`,
})
const cashier = agent({
  name: 'cashier',
  model: scriptedModel(({ turnAnswers, options: { prompt } }) => {
    if (turnAnswers === 0) return { calls: [{ name: 'refund', input: { order: 'A7', euros: 40 } }] }
    return { text: JSON.stringify(prompt.at(-1)).includes('denied') ? 'I may not.' : 'The money is on its way.' }
  }),
  tools: [refund],
})
const clerk = agent({
  name: 'clerk',
  model: scriptedModel(({ turnAnswers, options: { prompt } }) => {
    if (turnAnswers === 0) return { calls: [{ name: 'cashier', input: { prompt: 'Pay order A7 back.' } }] }
    return { text: /"value":"(.*?)"/.exec(JSON.stringify(prompt.at(-1)))?.[1] ?? '' }
  }),
  subAgents: [subAgent(cashier, { description: 'Knows whether, and how, money is paid back' })],
})

// A process that only answers has no engine. Another process continues the run, now or when it is started.
const store = await openStore('sqlite:approval.db')
const runtime = createRuntime({ store, agents: [clerk], engine: decision ? false : {} })
if (decision === undefined) {
  const run = await runtime.start({ session, runId: session, agent: clerk, input: 'I want my money back.' })
  const { status, text, pendings } = await run.result()
  for (const pending of pendings) if (pending.kind === 'approval') console.log(session, 'asks:', pending.part.input)
  console.log(status, text)
} else {
  const { pendings } = (await runtime.view(session)).view
  const answer = { approved: decision === 'yes', ...(reason && { reason }) }
  for (const { kind, id } of pendings) if (kind === 'approval') await runtime.answer(session, { kind, id, ...answer })
}
await runtime.close()
