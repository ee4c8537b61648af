// Programs of the random runs: scripted models, tools and nodes that play a scenario.

import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { Json } from '@millrace/protocol'
import {
  type Agent,
  agent,
  ProviderError,
  type ScriptedAnswer,
  type ScriptedPrompt,
  scriptedModel,
  subAgent,
  tool,
  useInterrupt,
  useStructuredData,
  type Workflow,
  workflow,
} from '@millrace/runtime'
import { z } from 'zod'

type Scripted = ReturnType<typeof scriptedModel>

/** Content of one model call, in one or two attempts. */
export interface Step {
  readonly reasoning: string
  readonly text: string
  readonly calls: readonly ScriptedCall[]
  readonly extras: readonly ExtraContent[]
  /** Number of attempts that fail after this content. */
  readonly failures: number
}

export type ScriptedCall = 'weigh' | 'sell' | 'locate' | 'broken' | 'counted' | 'nonsense'
export type ExtraContent = 'url' | 'document' | 'file' | 'provider' | 'response'

/** Reaction of a user to a pause. `claimed` claims the call before it answers. */
export type UserReply = 'yes' | 'claimed' | 'no' | 'stop'

/** History of the session: none, another turn, or a turn that the run replaces. */
export type SessionHistory = 'nothing' | 'turn' | 'retried' | 'edited'

/** A random scenario. */
export interface Scenario {
  readonly kind: 'agent' | 'object' | 'workflow'
  readonly steps: readonly Step[]
  readonly replies: readonly UserReply[]
  /** Whether the last model call fails in all attempts. */
  readonly isLastCallFailing: boolean
  readonly history: SessionHistory
  /** Interval between deltas in ms. The log coalesces deltas that wait. */
  readonly paceMs: number
  /** Index of the model call during which the driver leaves and another takes over. Negative: none. */
  readonly leavesAt: number
}

/** Lets a driver leave in the middle of a model call. */
export class DriverExit {
  readonly #leaving = Promise.withResolvers<'left'>()
  left: Promise<'left'> = this.#leaving.promise
  isOpen = false

  leave(): void {
    this.isOpen = false
    this.#leaving.resolve('left')
  }
}

const weigh = tool({
  name: 'weigh',
  inputSchema: z.object({ what: z.string(), kilos: z.number() }),
  async *execute({ what, kilos }, context) {
    context.emit('scale', { what }, { id: 'scale' })
    context.emit('creak', { what }, { transient: true })
    yield { kilos: kilos / 2 }
    context.updateState(state => ({ ...(state as object | undefined), [what]: kilos }))
    return { kilos }
  },
})

export const countingAgent = agent({
  name: 'counted',
  model: scriptedModel(({ turnAnswers, key }) =>
    turnAnswers === 0
      ? { reasoning: 'How many?', calls: [{ name: 'weigh', input: { what: 'sack', kilos: 2 }, id: `${key}-sack` }] }
      : { text: 'Two.' },
  ),
  tools: [weigh],
})

export const greeter = agent({
  name: 'greeter',
  model: scriptedModel(() => ({ reasoning: 'Who is it?', text: 'Hello there.' })),
})

const sell = tool({
  name: 'sell',
  inputSchema: z.object({ what: z.string() }),
  approval: true,
  execute: ({ what }) => `sold ${what}`,
})
const locate = tool({
  name: 'locate',
  inputSchema: z.object({ precise: z.boolean() }),
  outputSchema: z.object({ city: z.string() }),
  client: true,
})
const broken = tool({
  name: 'broken',
  inputSchema: z.object({}),
  execute: () => {
    throw new Error('the wheel is stuck')
  },
})

const INPUTS: Readonly<Record<ScriptedCall, Json>> = {
  weigh: { what: 'rye', kilos: 4 },
  sell: { what: 'flour' },
  locate: { precise: true },
  broken: {},
  counted: { prompt: 'the sacks' },
  nonsense: { any: 'thing' },
}

const attemptOf = ({ options }: ScriptedPrompt): number => Number(options.providerOptions?.['millrace']?.['attempt'])

export function programOf({ steps, isLastCallFailing, kind, paceMs, leavesAt }: Scenario, exit: DriverExit): Agent {
  const isObject = kind === 'object'
  const script = (prompt: ScriptedPrompt): ScriptedAnswer => {
    const { turnAnswers, key } = prompt
    const found = steps[turnAnswers]
    if (isLastCallFailing && turnAnswers >= steps.length - 1)
      return { text: 'It began', error: new ProviderError('provider_invalid_request', 'no more', { retryable: false }) }
    if (!found) return { text: 'That is all.' }
    const answer = answerOf(found, key, isObject, turnAnswers === steps.length - 1)
    if (attemptOf(prompt) > found.failures) return answer
    return { ...answer, error: new ProviderError('provider_overloaded', 'overloaded', { retryable: true }) }
  }
  const model = leavingModel(scriptedModel(script, { paceMs }), leavesAt, exit)
  if (isObject) {
    const output = z.object({ title: z.string(), rows: z.array(z.object({ name: z.string() })) })
    return agent({ name: 'program', model, outputSchema: output })
  }
  const subAgents = [subAgent(countingAgent, { description: 'Counts.' })]
  return agent({
    name: 'program',
    model,
    tools: [weigh, sell, locate, broken],
    subAgents,
    initialState: {},
    parallelCalls: 3,
  })
}

/** A model that triggers the exit of its driver after the first deltas of call `leavesAt`. */
function leavingModel(model: Scripted, leavesAt: number, exit: DriverExit): Scripted {
  const doStream: Scripted['doStream'] = async options => {
    const { stream } = await model.doStream(options)
    const answers = options.prompt.filter(({ role }) => role === 'assistant').length
    const paced = new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
      transform: async (part, controller) => {
        controller.enqueue(part)
        if (!exit.isOpen || answers !== leavesAt || !part.type.endsWith('-delta')) return
        exit.leave()
        await new Promise((_, reject) => options.abortSignal?.addEventListener('abort', reject))
      },
    })
    return { stream: stream.pipeThrough(paced) }
  }
  return { ...model, doStream }
}

function answerOf(
  { reasoning, text, calls, extras }: Step,
  key: string,
  isObject: boolean,
  isLast: boolean,
): ScriptedAnswer {
  if (isObject) {
    // Invalid output is streamed before its validation fails.
    const rows = isLast || extras.length === 0 ? calls.map(name => ({ name })) : 'none'
    return { text: JSON.stringify({ title: text, rows }), pieceLength: 5 }
  }
  return {
    pieceLength: 7,
    ...(reasoning && { reasoning }),
    ...(text && { text }),
    calls: calls.map((name, i) => ({ name, input: INPUTS[name], id: `${key}-${i}` })),
    parts: extras.flatMap((extra, i) => extraOf(extra, `${key}-x${i}`)),
  }
}

function extraOf(extra: ExtraContent, id: string): NonNullable<ScriptedAnswer['parts']> {
  switch (extra) {
    case 'url':
      return [{ type: 'source', sourceType: 'url', id, url: 'https://example.test/mill', title: 'The mill' }]
    case 'document':
      return [
        { type: 'source', sourceType: 'document', id, mediaType: 'text/plain', title: 'Notes', filename: 'n.txt' },
      ]
    case 'file':
      return [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw0KGgo=' } }]
    case 'response':
      return [{ type: 'response-metadata', id, modelId: 'scripted-1' }]
    case 'provider':
      return [
        {
          type: 'tool-call',
          toolCallId: id,
          toolName: 'web',
          input: '{"query":"mills"}',
          providerExecuted: true,
          dynamic: true,
        },
        { type: 'tool-result', toolCallId: id, toolName: 'web', result: { hits: 2 }, dynamic: true },
      ]
  }
}

const QUESTION = {
  kind: 'choice',
  question: 'Rye or oats?',
  options: [
    { id: 'rye', label: 'Rye' },
    { id: 'oats', label: 'Oats' },
  ],
} as const

export function workflowOf({ steps, isLastCallFailing }: Scenario): Workflow {
  const about = { streamId: 'picture', dataType: 'picture' }
  return workflow({
    id: 'asking',
    nodes: {
      ask: async () => {
        const received: unknown[] = []
        for (const { calls, text } of steps) {
          if (calls.length > 0) received.push(await useInterrupt({ request: QUESTION }))
          await useStructuredData({ ...about, kind: 'text-delta', path: 'text', delta: text })
          await useStructuredData({ ...about, kind: 'append', path: 'calls', items: [...calls] })
        }
        if (isLastCallFailing) throw new Error('the node fell over')
        await useStructuredData({ ...about, kind: 'final', data: { done: true } })
        // Transitions only in scenarios with extras.
        const isGone = steps.some(({ extras }) => extras.length > 0)
        return {
          data: { said: received as Json },
          ui: { message: 'Done.' },
          ...(isGone && { transitionTo: 'afterwards' }),
        }
      },
    },
    edges: [
      ['start', 'ask'],
      ['ask', 'end'],
    ],
  })
}

export const laterWorkflow = workflow({
  id: 'afterwards',
  inputSchema: z.object({ said: z.array(z.string()) }),
  nodes: { sweep: () => ({ ui: { message: 'Swept.' } }) },
  edges: [
    ['start', 'sweep'],
    ['sweep', 'end'],
  ],
})
