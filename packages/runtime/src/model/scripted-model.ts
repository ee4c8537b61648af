// A model that says what a script tells it: for demos and tests, offline, token by token.

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  SharedV4Warning,
} from '@ai-sdk/provider'
import { systemTimers, type Timers } from '@millrace/log'
import type { Json } from '@millrace/protocol'
import { sleep } from '../async/sleep.ts'
import { collectStream } from './generate-result.ts'
import { isSynthetic } from './prompt.ts'

/** One answer: what the model thinks, says and calls, in this order; or exactly these parts. */
export interface ScriptedAnswer {
  readonly reasoning?: string
  readonly text?: string
  readonly calls?: readonly ScriptedCall[]
  readonly usage?: {
    readonly input?: number
    readonly output?: number
    readonly cached?: number
    readonly reasoning?: number
  }
  readonly finishReason?: LanguageModelV4FinishReason['unified']
  /** What people should know of the answer: said before all else. */
  readonly warnings?: readonly SharedV4Warning[]
  /** Everything comes in pieces of so many characters instead of words, as a JSON document does. */
  readonly pieceLength?: number
  /** Parts in the provider's own words, after all else. */
  readonly parts?: readonly LanguageModelV4StreamPart[]
  /** What is thrown after that, instead of the end. */
  readonly error?: unknown
}

export interface ScriptedCall {
  readonly name: string
  readonly input: Json
  readonly id?: string
}

/** What a script may look at before it answers. */
export interface ScriptedPrompt {
  readonly options: LanguageModelV4CallOptions
  /** How many answers of a model the prompt holds. */
  readonly answers: number
  /** How many of them are of this turn: those since a person spoke. */
  readonly turnAnswers: number
  /** The latest words of a person. */
  readonly lastText: string
  /** The same whenever the same call is made again. */
  readonly key: string
}

/** The answers of one turn, the same in every turn: each follows those that the prompt holds, also one that did not fit an output. Or a function that answers. */
export type Script =
  | readonly ScriptedAnswer[]
  | ((prompt: ScriptedPrompt) => ScriptedAnswer | PromiseLike<ScriptedAnswer>)

export interface ScriptedOptions {
  readonly modelId?: string
  /** The time from token to token, in milliseconds; none, if nothing is said. */
  readonly paceMs?: number
  readonly timers?: Timers
  /** Whether it takes a schema of its answer; it does, if nothing is said. */
  readonly supportsStructuredOutputs?: boolean | undefined
}

/** A scripted model; it tells beforehand whether it takes a schema. */
export interface ScriptedModel extends LanguageModelV4 {
  readonly supportsStructuredOutputs: boolean | undefined
}

/** A model that says exactly what a script tells it. */
export function scriptedModel(script: Script, options: ScriptedOptions = {}): ScriptedModel {
  const { modelId = 'scripted', paceMs = 0, timers = systemTimers } = options
  const supportsStructuredOutputs = 'supportsStructuredOutputs' in options ? options.supportsStructuredOutputs : true
  const answerOf = async (call: LanguageModelV4CallOptions): Promise<ScriptedAnswer> => {
    const prompt = scriptedPromptOf(call)
    if (typeof script === 'function') return script(prompt)
    const answer = script[prompt.turnAnswers]
    if (answer) return answer
    throw new Error(`the script has ${script.length} answers for a turn, and none after ${prompt.turnAnswers}`)
  }
  const doStream: LanguageModelV4['doStream'] = async call => {
    const answer = await answerOf(call)
    const parts = partsOf(answer)
    const signal = call.abortSignal ?? new AbortController().signal
    const stream = new ReadableStream<LanguageModelV4StreamPart>(
      {
        async pull(controller) {
          const { done, value } = parts.next()
          if (done) return answer.error === undefined ? controller.close() : controller.error(answer.error)
          if (paceMs > 0 && /-delta$/.test(value.type)) await sleep(timers, paceMs, signal)
          if (signal.aborted) return controller.error(signal.reason)
          controller.enqueue(value)
        },
      },
      { highWaterMark: 0 },
    )
    return { stream }
  }
  const doGenerate: LanguageModelV4['doGenerate'] = async call => collectStream((await doStream(call)).stream)
  const about = { provider: 'millrace', modelId, supportedUrls: {}, supportsStructuredOutputs }
  return { specificationVersion: 'v4', ...about, doGenerate, doStream }
}

function scriptedPromptOf(options: LanguageModelV4CallOptions): ScriptedPrompt {
  const { prompt, providerOptions } = options
  const countFrom = (start: number) => prompt.slice(start).filter(({ role }) => role === 'assistant').length
  const turn = prompt.findLastIndex(message => message.role === 'user' && !isSynthetic(message))
  const last = prompt[turn]
  const parts = last?.role === 'user' ? last.content : []
  const text = parts.findLast(part => part.type === 'text')
  const lastText = text?.type === 'text' ? text.text : ''
  const key = String(providerOptions?.['millrace']?.['key'] ?? '')
  return { options, answers: countFrom(0), turnAnswers: countFrom(turn + 1), lastText, key }
}

function* partsOf(answer: ScriptedAnswer): Generator<LanguageModelV4StreamPart, void, void> {
  const { reasoning, text, calls = [], parts = [], error, warnings = [], pieceLength } = answer
  const cut = pieceLength === undefined ? splitWords : splitPieces(pieceLength)
  yield { type: 'stream-start', warnings: [...warnings] }
  if (reasoning !== undefined) yield* textParts('reasoning', cut(reasoning))
  if (text !== undefined) yield* textParts('text', cut(text))
  for (const [index, call] of calls.entries()) yield* callParts(call, index, cut)
  yield* parts
  if (error !== undefined || parts.some(({ type }) => type === 'finish')) return
  yield {
    type: 'finish',
    usage: usageOf(answer),
    finishReason: { unified: answer.finishReason ?? (calls.length > 0 ? 'tool-calls' : 'stop'), raw: undefined },
  }
}

function* textParts(kind: 'text' | 'reasoning', words: readonly string[]): Generator<LanguageModelV4StreamPart> {
  yield { type: `${kind}-start`, id: kind }
  for (const delta of words) yield { type: `${kind}-delta`, id: kind, delta }
  yield { type: `${kind}-end`, id: kind }
}

function* callParts(
  { name, input, id }: ScriptedCall,
  index: number,
  cut: Tokenizer,
): Generator<LanguageModelV4StreamPart> {
  const own = id ?? `call-${name}-${index + 1}`
  const text = JSON.stringify(input)
  yield { type: 'tool-input-start', id: own, toolName: name }
  for (const delta of cut(text)) yield { type: 'tool-input-delta', id: own, delta }
  yield { type: 'tool-input-end', id: own }
  yield { type: 'tool-call', toolCallId: own, toolName: name, input: text }
}

/** How a text is told piece by piece. */
type Tokenizer = (text: string) => readonly string[]

/** Words with the space before them. */
const splitWords: Tokenizer = text => text.match(/\s*\S+|\s+$/g) ?? []

/** Pieces of so many characters; none ends inside of one. */
function splitPieces(length: number): Tokenizer {
  if (!Number.isSafeInteger(length) || length < 1) {
    throw new Error(`the script: pieceLength: expected a whole number from 1 on, found ${length}`)
  }
  return text => {
    const characters = [...text]
    const count = Math.ceil(characters.length / length)
    return Array.from({ length: count }, (_, at) => characters.slice(at * length, (at + 1) * length).join(''))
  }
}

function usageOf({ usage = {}, reasoning = '', text = '' }: ScriptedAnswer) {
  const { input, output = splitWords(reasoning).length + splitWords(text).length } = usage
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead: usage.cached, cacheWrite: undefined },
    outputTokens: { total: output, text: undefined, reasoning: usage.reasoning },
  }
}
