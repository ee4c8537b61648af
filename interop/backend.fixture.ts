// A Millrace server for the clients of all dialects, with an agent per behaviour. Answers depend only on the prompt and the attempt.

import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { memoryStore } from '@millrace/log'
import type { Entry, View } from '@millrace/protocol'
import {
  type Agent,
  agent,
  ProviderError,
  providerTool,
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
import { type App, type MillraceOptions, millrace } from '@millrace/server'
import { onTestFinished } from 'vitest'
import { z } from 'zod'

const attemptOf = ({ options }: ScriptedPrompt): number => Number(options.providerOptions?.['millrace']?.['attempt'])

/** A barrier that a test opens. */
export class Gate {
  readonly #reached = Promise.withResolvers<void>()
  readonly #opened = Promise.withResolvers<void>()

  /** Resolves when the first caller has reached the gate. */
  get reached(): Promise<void> {
    return this.#reached.promise
  }

  open(): void {
    this.#opened.resolve()
  }

  /** Waits until the gate is open or the signal aborts. */
  async pass(signal?: AbortSignal): Promise<void> {
    this.#reached.resolve()
    await new Promise<void>((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason))
      this.#opened.promise.then(resolve)
    })
  }
}

const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
} as const

type Parts = readonly LanguageModelV4StreamPart[]

/** A model that streams half of its answer, waits at a gate, and streams the rest. */
function gatedModel(answer: (options: LanguageModelV4CallOptions) => readonly [Parts, Gate, Parts]): LanguageModelV4 {
  const doStream: LanguageModelV4['doStream'] = async options => {
    const [before, gate, after] = answer(options)
    const stream = new ReadableStream<LanguageModelV4StreamPart>({
      async start(controller) {
        try {
          for (const part of before) controller.enqueue(part)
          await gate.pass(options.abortSignal)
          for (const part of after) controller.enqueue(part)
          controller.enqueue({ type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage })
          controller.close()
        } catch (error) {
          controller.error(error)
        }
      },
    })
    return { stream }
  }
  const doGenerate = () => Promise.reject(new Error('doGenerate is not supported: use doStream'))
  return { specificationVersion: 'v4', provider: 'millrace', modelId: 'held', supportedUrls: {}, doGenerate, doStream }
}

const deltas = (...texts: readonly string[]): Parts => texts.map(delta => ({ type: 'text-delta', id: '1', delta }))

/** The halves of a text. */
const TEXT: readonly [Parts, Parts] = [
  [{ type: 'stream-start', warnings: [] }, { type: 'text-start', id: '1' }, ...deltas('one ', 'two ')],
  [...deltas('three ', 'four'), { type: 'text-end', id: '1' }],
]

/** The halves of a call's input. */
const INPUT: readonly [Parts, Parts] = [
  [
    { type: 'tool-input-start', id: 'input-1', toolName: 'weigh' },
    { type: 'tool-input-delta', id: 'input-1', delta: '{"what":"rye",' },
  ],
  [
    { type: 'tool-input-delta', id: 'input-1', delta: '"kilos":4}' },
    { type: 'tool-input-end', id: 'input-1' },
    { type: 'tool-call', toolCallId: 'input-1', toolName: 'weigh', input: '{"what":"rye","kilos":4}' },
  ],
]

const weigh = tool({
  name: 'weigh',
  description: 'Weighs a sack.',
  inputSchema: z.object({ what: z.string(), kilos: z.number() }),
  async *execute({ what, kilos }, context) {
    context.emit('scale', { what, kilos: kilos / 2 }, { id: `scale-${what}` })
    context.emit('creak', { what }, { transient: true })
    yield { what, kilos: kilos / 2 }
    context.updateState(state => ({ ...(state as object | undefined), [what]: kilos }))
    return { what, kilos }
  },
})

export const sell = tool({
  name: 'sell',
  description: 'Sells something after an approval.',
  inputSchema: z.object({ what: z.string() }),
  approval: true,
  execute: ({ what }) => ({ sold: what }),
})

const locate = tool({
  name: 'locate',
  description: 'Where the person is.',
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

const QUESTION = {
  kind: 'choice',
  question: 'Rye or oats?',
  options: [
    { id: 'rye', label: 'Rye' },
    { id: 'oats', label: 'Oats' },
  ],
} as const

/** Output of the lister. */
export const INVENTORY = {
  title: 'What there is',
  rows: [
    { name: 'rye', kilos: 3 },
    { name: 'oats', kilos: 4 },
  ],
}

export class Backend {
  /** Number of model calls per agent. */
  readonly calls: Record<string, number> = {}
  /** Where `holder` waits in the middle of its answer, and `scribe` in the middle of an input. */
  gate = new Gate()
  readonly app: App
  url = ''

  constructor(options: Partial<MillraceOptions> = {}) {
    const logger = { warn() {}, error() {} }
    this.app = millrace({
      store: memoryStore(),
      agents: this.#agents(),
      workflows: this.#workflows(),
      engine: { pollMs: 20 },
      backoff: { firstMs: 20, longestMs: 100 },
      logger,
      ...options,
    })
  }

  /** The view of a session. */
  async view(sessionId: string): Promise<Omit<View, 'internal'>> {
    return (await (await this.app.runtime()).view(sessionId)).view
  }

  /** All entries of a session except internal ones. */
  async entries(sessionId: string): Promise<readonly Entry[]> {
    const { manager } = await this.app.runtime()
    const { head = 0 } = (await manager.getInfo(sessionId)) ?? {}
    return (await manager.entries(sessionId, 0, head)).filter(({ internal }) => !internal)
  }

  #model(name: string, script: (prompt: ScriptedPrompt) => ScriptedAnswer) {
    return scriptedModel(prompt => {
      this.calls[name] = (this.calls[name] ?? 0) + 1
      return script(prompt)
    })
  }

  #agents(): Agent[] {
    const counting = (name: string, script: (prompt: ScriptedPrompt) => ScriptedAnswer, rest: object = {}): Agent =>
      agent({ name, model: this.#model(name, script), ...rest })
    const counted = counting('counted', ({ lastText }) => ({ text: `Counted: ${lastText}` }))
    const held = gatedModel(() => {
      this.calls['holder'] = (this.calls['holder'] ?? 0) + 1
      return [TEXT[0], this.gate, TEXT[1]]
    })
    const writing = gatedModel(({ prompt }) => {
      const isDone = prompt.at(-1)?.role === 'tool'
      return isDone ? [[...TEXT[0], ...TEXT[1]], this.gate, []] : [INPUT[0], this.gate, INPUT[1]]
    })
    return [
      counting('teller', ({ lastText }) => ({ reasoning: 'What did they say?', text: `You said: ${lastText}` })),
      counting(
        'weigher',
        ({ turnAnswers, key }) =>
          turnAnswers === 0
            ? {
                text: 'I weigh both.',
                calls: [
                  { name: 'weigh', input: { what: 'rye', kilos: 4 }, id: `${key}-rye` },
                  { name: 'weigh', input: { what: 'oats', kilos: 6 }, id: `${key}-oats` },
                ],
              }
            : { text: 'Oats are heavier.' },
        { tools: [weigh], initialState: {}, parallelCalls: 2 },
      ),
      counting(
        'seller',
        ({ turnAnswers, key }) =>
          turnAnswers === 0
            ? { text: 'May I?', calls: [{ name: 'sell', input: { what: 'flour' }, id: `${key}-flour` }] }
            : { text: 'So much for the flour.' },
        { tools: [sell] },
      ),
      counting(
        'guide',
        ({ turnAnswers, key }) =>
          turnAnswers === 0
            ? { text: 'Where are you?', calls: [{ name: 'locate', input: { precise: false }, id: `${key}-place` }] }
            : { text: 'Now I know.' },
        { tools: [locate] },
      ),
      counting(
        'breaker',
        ({ turnAnswers, key }) =>
          turnAnswers === 0 ? { calls: [{ name: 'broken', input: {}, id: `${key}-b` }] } : { text: 'It broke.' },
        { tools: [broken] },
      ),
      counting('lister', () => ({ text: JSON.stringify(INVENTORY), pieceLength: 6 }), {
        outputSchema: z.object({ title: z.string(), rows: z.array(z.object({ name: z.string(), kilos: z.number() })) }),
      }),
      counting('librarian', () => ({
        text: 'See these.',
        parts: [
          { type: 'source', sourceType: 'url', id: 'src-1', url: 'https://example.test/mill', title: 'The mill' },
          {
            type: 'source',
            sourceType: 'document',
            id: 'src-2',
            mediaType: 'text/plain',
            title: 'Notes',
            filename: 'notes.txt',
          },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw0KGgo=' } },
        ],
      })),
      counting('signer', () => ({
        text: 'Signed.',
        parts: [{ type: 'response-metadata', id: 'answer-1', modelId: 'scripted-1' }],
      })),
      counting(
        'searcher',
        ({ key }) => ({
          parts: [
            { type: 'tool-input-start', id: `${key}-web`, toolName: 'web', providerExecuted: true },
            { type: 'tool-input-delta', id: `${key}-web`, delta: '{"query":"mills"}' },
            { type: 'tool-input-end', id: `${key}-web` },
            {
              type: 'tool-call',
              toolCallId: `${key}-web`,
              toolName: 'web',
              input: '{"query":"mills"}',
              providerExecuted: true,
            },
            { type: 'tool-result', toolCallId: `${key}-web`, toolName: 'web', result: { hits: 2 } },
            { type: 'text-start', id: 't' },
            { type: 'text-delta', id: 't', delta: 'Found two.' },
            { type: 'text-end', id: 't' },
          ],
        }),
        { tools: [providerTool({ name: 'web', id: 'backend.web', args: {} })] },
      ),
      counting('stumbler', () => ({
        text: 'It began well',
        error: new ProviderError('provider_invalid_request', 'no more', { retryable: false }),
      })),
      counting('flaky', prompt =>
        attemptOf(prompt) === 1
          ? {
              reasoning: 'Hm, well.',
              text: 'I mean, er,',
              error: new ProviderError('provider_overloaded', 'overloaded', { retryable: true }),
            }
          : { reasoning: 'Now then.', text: 'The wheel turns.' },
      ),
      agent({ name: 'holder', model: held }),
      agent({ name: 'scribe', model: writing, tools: [weigh] }),
      counting(
        'boss',
        ({ turnAnswers, key }) =>
          turnAnswers === 0
            ? { text: 'I ask.', calls: [{ name: 'counted', input: { prompt: 'sacks' }, id: `${key}-sub` }] }
            : { text: 'They counted.' },
        { subAgents: [subAgent(counted, { description: 'Counts.' })] },
      ),
    ]
  }

  #workflows(): Workflow[] {
    const asker = workflow({
      id: 'asker',
      nodes: {
        ask: async () => {
          const response = await useInterrupt({ request: QUESTION })
          return { data: { said: response }, ui: { message: `You chose ${JSON.stringify(response)}.` } }
        },
      },
      edges: [
        ['start', 'ask'],
        ['ask', 'end'],
      ],
    })
    const painter = workflow({
      id: 'painter',
      nodes: {
        paint: async () => {
          const about = { streamId: 'picture', dataType: 'picture' }
          await useStructuredData({ ...about, kind: 'set', path: 'title', value: 'Mill' })
          await useStructuredData({ ...about, kind: 'append', path: 'strokes', items: [1, 2] })
          await useStructuredData({ ...about, kind: 'final', data: { title: 'Mill', strokes: [1, 2] } })
          return { ui: { message: 'Painted.' } }
        },
      },
      edges: [
        ['start', 'paint'],
        ['paint', 'end'],
      ],
    })
    return [asker, painter]
  }
}

/** Starts a backend on a free port. It stops at the end of the test. */
export async function openBackend(options: Partial<MillraceOptions> = {}): Promise<Backend> {
  const backend = new Backend(options)
  const listening = await backend.app.listen({ port: 0 })
  onTestFinished(async () => {
    await backend.app.close()
    // Keep-alive connections of clients would delay the close.
    listening.server.closeAllConnections()
    await listening.close()
  })
  backend.url = listening.url
  return backend
}
