import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { openStore } from '@millrace/log'
import { agent, createRuntime, scriptedModel, tool } from '@millrace/runtime'
import { z } from 'zod'

const [, , input = 'Do I need a coat?', session = crypto.randomUUID()] = process.argv
const { OPENAI_API_KEY: apiKey = '', OPENAI_BASE_URL: baseURL = 'https://api.openai.com/v1' } = process.env
const call = { name: 'weather', input: { city: 'Ulm' } }
const script = [{ text: 'Let me look. ', calls: [call] }, { text: 'It is 21 degrees in Ulm: no coat needed.' }]
const weather = tool({
  name: 'weather',
  description: 'The weather in a city, now',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 21 }),
})
const openai = createOpenAICompatible({ name: 'openai', baseURL, apiKey })
const model = apiKey ? openai(process.env['MODEL'] ?? 'gpt-5-mini') : scriptedModel(script, { paceMs: 60 })
const guide = agent({ name: 'guide', model, instructions: 'Answer in one sentence.', tools: [weather] })

// Kill this at any time and start it again with the same session: the run continues from its last commit.
const runtime = createRuntime({ store: await openStore('sqlite:agent.db'), agents: [guide] })
const run = await runtime.start({ session, runId: session, agent: guide, input })
for await (const { chunk } of run.stream()) {
  if (chunk.type === 'text-delta') process.stdout.write(chunk.delta)
  else if (chunk.type === 'step-discarded') process.stdout.write('\n') // The interrupted text is generated again.
}
await runtime.close()
