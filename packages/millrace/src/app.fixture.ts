// An app as users write it. Clients import only its type.

import { z } from 'zod'
import {
  type Agent,
  agent,
  type Emits,
  millrace,
  type NodeContext,
  providerTool,
  scriptedModel,
  subAgent,
  tool,
  workflow,
} from './index.ts'

const model = scriptedModel([])

export interface Weather {
  readonly city: string
  readonly degrees: number
}

const weather = tool({
  name: 'weather',
  inputSchema: z.object({
    city: z.string(),
    unit: z.enum(['celsius', 'fahrenheit']),
    days: z.string().transform(Number),
  }),
  async execute({ city }, { emit }: Emits<{ weather: Weather; seen: { at: Date } }>) {
    await emit('seen', { at: new Date(0) }, { transient: true })
    await emit('weather', { city, degrees: 21 }, { id: city })
    return { degrees: 21, at: new Date(0) }
  },
})
const clock = tool({ name: 'clock', inputSchema: z.object({}), execute: (_, { emit }) => void emit('tick', 1) })
const wait = tool({ name: 'wait', inputSchema: z.object({}), async execute() {} })
const locate = tool({
  name: 'locate',
  inputSchema: z.object({ precise: z.boolean().default(false) }),
  client: true,
  outputSchema: z.object({ latitude: z.number(), longitude: z.number() }),
})
const choose = tool({ name: 'choose', inputSchema: z.object({ among: z.array(z.string()) }), client: true })
const search = providerTool({ name: 'search', id: 'openai.web_search' })

const writer = agent({
  name: 'writer',
  model,
  outputSchema: z.object({ title: z.string(), lines: z.array(z.string()) }),
})
const translator = agent({ name: 'translator', model, tools: [choose] })
const expert = subAgent(translator, { name: 'expert', inputSchema: z.object({ text: z.string(), to: z.string() }) })
const Notes = z.object({ lines: z.array(z.string()), since: z.date().optional() })
const helper = agent({
  name: 'helper',
  model,
  tools: [weather, clock, wait, locate, search],
  subAgents: [writer, expert],
  stateSchema: Notes,
})
const plain = agent({ name: 'plain', model })

const checker = agent({
  name: 'checker',
  model,
  tools: [tool({ name: 'check', inputSchema: z.object({ id: z.number() }), execute: () => true })],
})
const review = workflow({
  id: 'review',
  nodes: {
    read: async ({ input }: NodeContext<string>) => ({ data: input }),
    check: { agent: checker, prompt: (input: string) => `Check ${input}` },
  },
  edges: [
    ['start', 'read'],
    ['read', 'check'],
    ['check', 'end'],
  ],
})

export const app = millrace({ store: 'memory:', agents: [helper, plain], workflows: [review] })

/** A server whose agents are only known at run time. */
export const open = millrace({ store: 'memory:', agents: [helper, plain] as readonly Agent[] })

/** A server defined in one expression. */
export const echo = millrace({ store: 'memory:', agents: [agent({ name: 'echo', model })] })
