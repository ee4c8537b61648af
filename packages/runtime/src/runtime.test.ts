import { memoryStore } from '@millrace/log'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, createRuntime, scriptedModel, tool } from './index.ts'

const weather = tool({
  name: 'weather',
  description: 'The weather in a city',
  input: z.object({ city: z.string() }),
  async *execute({ city }, context) {
    yield { city, celsius: 0 }
    context.emit('note', { city })
    context.updateState(state => ({ ...(state as object), city }))
    return { city, celsius: 21 }
  },
})

test('an agent calls its tools and answers, and all of it is in the log', async () => {
  const helper = agent({
    name: 'helper',
    model: scriptedModel([
      {
        reasoning: 'I must look.',
        text: 'Let me see.',
        calls: [
          { name: 'weather', input: { city: 'Ulm' } },
          { name: 'weather', input: { city: 'Bonn' } },
        ],
      },
      { text: 'It is warm in Ulm.' },
    ]),
    instructions: 'Be brief.',
    tools: [weather],
    initialState: {},
  })
  const runtime = createRuntime({ store: memoryStore(), agents: [helper], engine: { pollMs: 20 } })
  const run = await runtime.start({ agent: helper, input: 'How warm is it?', session: 's' })
  const types: string[] = []
  for await (const { chunk } of run.stream()) types.push(chunk.type)
  const result = await run.result()
  expect(result).toMatchObject({ status: 'completed', text: 'Let me see.It is warm in Ulm.' })
  const { view } = await runtime.view('s')
  expect(view.state).toEqual({ city: 'Bonn' })
  expect(types.at(0)).toBe('run-started')
  expect(types.at(-1)).toBe('run-finished')
  await runtime.close()
})
