// A model that streams scripted answers, for tests and offline demos.

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

/** One answer: reasoning, text and calls, in this order, then `parts`. */
export interface ScriptedAnswer {
  /** Text of the reasoning. @default none */
  readonly reasoning?: string
  /** Text of the answer. @default none */
  readonly text?: string
  /** Tool calls. @default [] */
  readonly calls?: readonly ScriptedCall[]
  /** Tokens that the model reports. @default the number of words as `output`, and no other counts */
  readonly usage?: {
    readonly input?: number
    readonly output?: number
    readonly cached?: number
    readonly reasoning?: number
  }
  /** Why the answer ends. @default 'tool-calls' with calls, else 'stop' */
  readonly finishReason?: LanguageModelV4FinishReason['unified']
  /** Warnings in the `stream-start` part. @default [] */
  readonly warnings?: readonly SharedV4Warning[]
  /** Length of deltas in characters. @default one word per delta */
  readonly pieceLength?: number
  /** Raw stream parts, after all others. A finish part among them replaces the scripted one. @default [] */
  readonly parts?: readonly LanguageModelV4StreamPart[]
  /** Error that the stream fails with instead of the finish part. @default none */
  readonly error?: unknown
}

/** A tool call of a scripted answer. */
export interface ScriptedCall {
  /** Name of the tool. */
  readonly name: string
  /** Input of the call. */
  readonly input: Json
  /** Id of the call. @default `call-<name>-<number>` */
  readonly id?: string
}

/** The prompt of a call, for a script that is a function. */
export interface ScriptedPrompt {
  /** All options of the call. */
  readonly options: LanguageModelV4CallOptions
  /** Number of assistant messages in the prompt. */
  readonly answers: number
  /** Number of assistant messages since the last user message. */
  readonly turnAnswers: number
  /** Text of the last user message. */
  readonly lastText: string
  /** Idempotency key of the call. */
  readonly key: string
}

/**
 * The answers of each turn, in order, including those that do not match an output schema; or a function that returns the
 * next answer.
 */
export type Script =
  | readonly ScriptedAnswer[]
  | ((prompt: ScriptedPrompt) => ScriptedAnswer | PromiseLike<ScriptedAnswer>)

/** Options of `scriptedModel`. */
export interface ScriptedOptions {
  /** Id of the model. @default 'scripted' */
  readonly modelId?: string
  /** Delay before each delta, in ms. @default 0 */
  readonly paceMs?: number
  /** Clock and timers, for tests. @default systemTimers */
  readonly timers?: Timers
  /** Whether it declares support for a schema of its answer. Undefined declares nothing. @default true */
  readonly supportsStructuredOutputs?: boolean | undefined
}

/** A scripted model. It declares whether it supports a schema for its answer. */
export interface ScriptedModel extends LanguageModelV4 {
  readonly supportsStructuredOutputs: boolean | undefined
}

/**
 * Creates a model that streams scripted answers, for tests and offline demos.
 * A call fails with an `Error` if the script has no answer for it.
 */
export function scriptedModel(script: Script, options: ScriptedOptions = {}): ScriptedModel {
  const { modelId = 'scripted', paceMs = 0, timers = systemTimers } = options
  const supportsStructuredOutputs = 'supportsStructuredOutputs' in options ? options.supportsStructuredOutputs : true
  const nextAnswer = async (call: LanguageModelV4CallOptions): Promise<ScriptedAnswer> => {
    const prompt = scriptedPromptOf(call)
    if (typeof script === 'function') return script(prompt)
    const answer = script[prompt.turnAnswers]
    if (answer) return answer
    throw new Error(
      `the script has ${script.length} answers for a turn, but the model was called ${prompt.turnAnswers + 1} times: add answers`,
    )
  }
  const doStream: LanguageModelV4['doStream'] = async call => {
    const answer = await nextAnswer(call)
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
  const fields = { provider: 'millrace', modelId, supportedUrls: {}, supportsStructuredOutputs }
  return { specificationVersion: 'v4', ...fields, doGenerate, doStream }
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
  const split = pieceLength === undefined ? splitWords : splitPieces(pieceLength)
  yield { type: 'stream-start', warnings: [...warnings] }
  if (reasoning !== undefined) yield* textParts('reasoning', split(reasoning))
  if (text !== undefined) yield* textParts('text', split(text))
  for (const [index, call] of calls.entries()) yield* callParts(call, index, split)
  yield* parts
  if (error !== undefined || parts.some(({ type }) => type === 'finish')) return
  yield {
    type: 'finish',
    usage: usageOf(answer),
    finishReason: { unified: answer.finishReason ?? (calls.length > 0 ? 'tool-calls' : 'stop'), raw: undefined },
  }
}

function* textParts(kind: 'text' | 'reasoning', deltas: readonly string[]): Generator<LanguageModelV4StreamPart> {
  yield { type: `${kind}-start`, id: kind }
  for (const delta of deltas) yield { type: `${kind}-delta`, id: kind, delta }
  yield { type: `${kind}-end`, id: kind }
}

function* callParts(
  { name, input, id }: ScriptedCall,
  index: number,
  split: SplitText,
): Generator<LanguageModelV4StreamPart> {
  const callId = id ?? `call-${name}-${index + 1}`
  const text = JSON.stringify(input)
  yield { type: 'tool-input-start', id: callId, toolName: name }
  for (const delta of split(text)) yield { type: 'tool-input-delta', id: callId, delta }
  yield { type: 'tool-input-end', id: callId }
  yield { type: 'tool-call', toolCallId: callId, toolName: name, input: text }
}

/** Splits a text into deltas. */
type SplitText = (text: string) => readonly string[]

/** Words with the white space before them. */
const splitWords: SplitText = text => text.match(/\s*\S+|\s+$/g) ?? []

/** Pieces of `length` characters. Never splits a surrogate pair. @throws if `length` is not a positive integer. */
function splitPieces(length: number): SplitText {
  if (!Number.isSafeInteger(length) || length < 1) {
    throw new Error(`pieceLength: expected an integer of at least 1, found ${length}`)
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
