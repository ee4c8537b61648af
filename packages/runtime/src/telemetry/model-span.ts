// The span of one attempt of a model call: `chat {model}`.

import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { Usage } from '@millrace/protocol'
import { type Attributes, SpanKind } from '@opentelemetry/api'
import { usageOf } from '../model/usage.ts'
import type { GuardedSpan } from './guarded-span.ts'
import { inputOf, OutputCollector } from './message-content.ts'
import type { Scope, SpanOrigin } from './scope.ts'
import { attribute, finishReasonName, providerName } from './semantic-conventions.ts'
import { INTERRUPTED, spanErrorOf } from './span-error.ts'
import type { TruncatedJson } from './truncate-json.ts'

export interface ModelSpanOptions {
  readonly model: LanguageModelV4
  readonly options: LanguageModelV4CallOptions
  readonly step: number
  readonly attempt: number
}

/** The result of a model call, for the span of its agent. */
export interface ModelCallResult {
  readonly usage: Usage | undefined
  readonly finishReason: string | undefined
}

/** Telemetry of one attempt of a model call. */
export interface ModelCallTelemetry {
  /** Runs the call with this span as the active one. */
  within<T>(code: () => T): T
  /** Records a stream part of the answer. */
  received(part: LanguageModelV4StreamPart): void
  /** Ends the span, as failed if there is a failure. */
  end(failure?: unknown): void
}

export class ModelSpan implements ModelCallTelemetry {
  readonly #scope: Scope
  readonly #span: GuardedSpan
  readonly #labels: Attributes
  readonly #isRecorded: boolean
  readonly #onEnd: (result: ModelCallResult) => void
  readonly #startedAt = performance.now()
  readonly #output: OutputCollector | undefined
  /** Time of the latest stream part; 0 before the first. */
  #latestPartAt = 0
  #usage: Usage | undefined
  #finishReason: string | undefined
  #isEnded = false

  constructor(
    scope: Scope,
    origin: SpanOrigin,
    spanOptions: ModelSpanOptions,
    onEnd: (result: ModelCallResult) => void,
  ) {
    const { model, options, step, attempt } = spanOptions
    this.#scope = scope
    this.#onEnd = onEnd
    this.#labels = {
      [attribute.operation]: 'chat',
      [attribute.provider]: providerName(model.provider),
      [attribute.requestModel]: model.modelId,
    }
    this.#span = scope.startSpan(`chat ${model.modelId}`, SpanKind.CLIENT, origin, {
      operation: 'chat',
      attributes: {
        ...this.#labels,
        ...requestAttributes(options),
        [attribute.step]: step,
        [attribute.attempt]: attempt,
      },
      description: { step, attempt, model: model.modelId },
    })
    this.#isRecorded = this.#span.isRecording || scope.instruments.isActive
    if (!scope.content || !this.#span.isRecording) return
    this.#output = new OutputCollector()
    scope.guard.attempt('content', () => this.#setInput(options))
  }

  within<T>(code: () => T): T {
    return this.#span.within(code)
  }

  received(part: LanguageModelV4StreamPart): void {
    if (!this.#isRecorded) return
    try {
      this.#record(part)
    } catch (error) {
      this.#scope.guard.warnOnce('received', error)
    }
  }

  end(failure?: unknown): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#onEnd({ usage: this.#usage, finishReason: this.#finishReason })
    const failed = spanErrorOf(failure)
    const reason = this.#finishReason
    this.#span.set({
      ...usageAttributes(this.#usage),
      ...(reason !== undefined && { [attribute.finishReasons]: [finishReasonName(reason)] }),
    })
    const { content, guard } = this.#scope
    const output = this.#output
    if (output) guard.attempt('content', () => this.#setOutput(output, failed ? 'error' : (reason ?? 'other')))
    this.#span.end(failed?.type, content ? failed?.message : undefined)
    this.#measure(failed?.type)
  }

  /** Ends the span because its parent ended. */
  interrupt(): void {
    this.end(INTERRUPTED)
  }

  #measure(errorType: string | undefined): void {
    const { instruments } = this.#scope
    if (!instruments.isActive) return
    const { inputTokens, outputTokens } = this.#usage ?? {}
    for (const [type, count] of [['input', inputTokens] as const, ['output', outputTokens] as const]) {
      if (count !== undefined) instruments.record('tokens', count, { ...this.#labels, [attribute.tokenType]: type })
    }
    const seconds = (performance.now() - this.#startedAt) / 1000
    const error = errorType !== undefined && { [attribute.errorType]: errorType }
    instruments.record('operation', seconds, { ...this.#labels, ...error })
  }

  #record(part: LanguageModelV4StreamPart): void {
    const { type } = part
    // The provider's package sends it before the first byte arrives.
    if (type === 'stream-start') return
    if (this.#latestPartAt === 0) this.#recordFirst()
    else if (type.endsWith('-delta')) this.#recordNext()
    if (type === 'finish') {
      this.#usage = usageOf(part.usage)
      this.#finishReason = part.finishReason.unified
    } else if (type === 'response-metadata') this.#recordResponse(part)
    this.#output?.add(part)
  }

  #recordFirst(): void {
    this.#latestPartAt = performance.now()
    const seconds = (this.#latestPartAt - this.#startedAt) / 1000
    this.#span.set({ [attribute.timeToFirstChunk]: seconds })
    this.#scope.instruments.record('firstChunk', seconds, this.#labels)
  }

  #recordNext(): void {
    const { instruments } = this.#scope
    if (!instruments.isActive) return
    const now = performance.now()
    instruments.record('nextChunk', (now - this.#latestPartAt) / 1000, this.#labels)
    this.#latestPartAt = now
  }

  #recordResponse({ id, modelId }: Extract<LanguageModelV4StreamPart, { type: 'response-metadata' }>): void {
    if (id !== undefined) this.#span.set({ [attribute.responseId]: id })
    if (modelId === undefined) return
    this.#labels[attribute.responseModel] = modelId
    this.#span.set({ [attribute.responseModel]: modelId })
  }

  #setInput({ prompt }: LanguageModelV4CallOptions): void {
    const { instructions, messages } = inputOf(prompt)
    if (instructions) this.#setContent(attribute.systemInstructions, instructions)
    this.#setContent(attribute.inputMessages, messages)
  }

  #setOutput(output: OutputCollector, reason: string): void {
    this.#setContent(attribute.outputMessages, output.message(finishReasonName(reason)))
  }

  #setContent(name: string, { json, isTruncated }: TruncatedJson): void {
    this.#span.set({ [name]: json, ...(isTruncated && { [attribute.isTruncated]: true }) })
  }
}

function requestAttributes(options: LanguageModelV4CallOptions): Attributes {
  const { maxOutputTokens, temperature, topP, topK, presencePenalty, frequencyPenalty, seed, stopSequences } = options
  const attributes: Attributes = {
    [attribute.requestStream]: true,
    [attribute.maxTokens]: maxOutputTokens,
    [attribute.temperature]: temperature,
    [attribute.topP]: topP,
    [attribute.topK]: topK,
    [attribute.presencePenalty]: presencePenalty,
    [attribute.frequencyPenalty]: frequencyPenalty,
    [attribute.seed]: seed,
    [attribute.stopSequences]: stopSequences,
    [attribute.outputType]: options.responseFormat?.type === 'json' ? 'json' : undefined,
  }
  for (const name in attributes) if (attributes[name] === undefined) delete attributes[name]
  return attributes
}

/** The attributes of the known token counts. */
export function usageAttributes(usage: Usage | undefined): Attributes {
  const { inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage ?? {}
  const attributes: Attributes = {}
  if (inputTokens !== undefined) attributes[attribute.inputTokens] = inputTokens
  if (outputTokens !== undefined) attributes[attribute.outputTokens] = outputTokens
  if (cachedTokens !== undefined) attributes[attribute.cachedTokens] = cachedTokens
  if (cacheWriteTokens !== undefined) attributes[attribute.cacheWriteTokens] = cacheWriteTokens
  if (reasoningTokens !== undefined) attributes[attribute.reasoningTokens] = reasoningTokens
  return attributes
}
