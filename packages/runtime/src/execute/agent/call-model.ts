// The model call of a step. Each attempt is a draft that is committed or discarded.

import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { BatchItem, Lane } from '@millrace/log'
import type { Chunk, Json, Usage, View } from '@millrace/protocol'
import { excerpt } from '@millrace/protocol/internal'
import { sleep } from '../../async/sleep.ts'
import { yieldToEventLoop } from '../../async/yield-to-event-loop.ts'
import { compute } from '../../define/agent.ts'
import type { Callable } from '../../define/tool.ts'
import { classifyProviderError } from '../../error/classify-provider-error.ts'
import { BudgetError, MillraceError } from '../../error/error.ts'
import { logErrorCode } from '../../error/log-error-code.ts'
import { retryDelayMs } from '../../model/backoff.ts'
import { jsonFormatOf, learnFromWarnings, schemaInstructions } from '../../model/json-format.ts'
import { asV4, type Model, modelName } from '../../model/model.ts'
import { ModelAnswer, streamCutError } from '../../model/model-answer.ts'
import { modelLimitsOf } from '../../model/model-limits.ts'
import { PartReader } from '../../model/part-reader.ts'
import { promptOf, syntheticMessage } from '../../model/prompt.ts'
import { deepCopy } from '../../schema/deep-copy.ts'
import { keyOf } from '../../session/key.ts'
import { lastLineOf } from '../../session/last-line.ts'
import type { ModelCallTelemetry } from '../../telemetry/model-span.ts'
import { IncompleteAnswerError } from '../incomplete-answer-error.ts'
import { outputInvalid, outputProblem } from '../output-stream.ts'
import { type AgentExecution, type CompletedModelCall, contextOf, maxCallIdLength } from '../program-execution.ts'
import { allowanceFor } from './budgets.ts'
import { fittingOutputs, withFittingOutputs } from './fitting-outputs.ts'

/**
 * Calls the model until an answer is complete and valid. Returns undefined if another process is to make the next
 * attempt.
 * @throws if all attempts fail.
 */
export async function callModel(
  work: AgentExecution,
  step: number,
  tools: ReadonlyMap<string, Callable>,
): Promise<CompletedModelCall | undefined> {
  const { agent, session, runId, timers, backoff, signal, handover, logger } = work
  const context = contextOf(work, step)
  const definedModel = await compute(agent.model, context)
  const model = asV4(definedModel, `agent ${agent.name}: model`)
  const limits = modelLimitsOf(
    `agent ${agent.name}: modelLimits`,
    await compute(agent.modelLimits, context),
    work.modelLimits,
  )
  const instructions = await compute(agent.instructions, context)
  const history = await work.history()
  const trimmed = agent.trimHistory ? await agent.trimHistory(deepCopy(history), context) : history
  // After trimming, so that only files that the model gets are read.
  const messages = await session.withUploads(trimmed)
  const lane = work.lane(step, modelName(model))
  const corrections: LanguageModelV4Prompt = []
  const discarded: Usage[] = []
  for (let attempt = 1; ; attempt++) {
    // Between attempts nothing is in flight, so the run can be handed over.
    if (attempt > 1 && handover.aborted) return undefined
    // Ids of the discarded attempt are free again.
    if (attempt > 1) await session.current()
    const allowance = await allowanceFor(work, limits)
    const output = work.output(step)
    const write = (chunk: Chunk) => lane.write(chunk, work.isHidden?.(chunk) ? { internal: true } : undefined)
    const format = formatOf(work, definedModel)
    const prompt = promptOf(messages, [instructions, format?.instructions].filter(Boolean).join('\n\n'))
    const answer = new ModelAnswer({
      step,
      prefix: work.prefix,
      tools,
      isTaken: id => session.hasCall(id),
      reserve: id => session.reserve(id, lane.origin.lane),
      maxIdLength: maxCallIdLength(lane),
      rewinds: rewindsOf(session.view),
      write(chunk) {
        for (const extra of output?.before(chunk) ?? []) write(extra)
        return write(chunk)
      },
      fits: chunks => lane.fits(chunks),
      sink: output,
    })
    let isStarted = false
    let span: ModelCallTelemetry | undefined
    const reader = new PartReader({ timers, signal, limits, allowance })
    try {
      const options = optionsOf(
        work,
        step,
        attempt,
        [...prompt, ...corrections],
        tools,
        reader.signal,
        format?.responseFormat,
      )
      const call = work.telemetry.modelCall({ model, options, step, attempt })
      span = call
      const startStep = () => {
        isStarted = true
        const stepId = work.prefix && { stepId: `${work.prefix}${step}` }
        return lane.write({ type: 'step-start', ...stepId, ...(attempt > 1 && { attempt }) })
      }
      await call
        .within(() => readAnswer(work, model, options, reader, answer, call, startStep))
        .finally(() => format?.learn(answer))
      const { committedChunks, calls, requestedCalls, text } = answer
      const isOutput = output !== undefined && calls === 0
      const document = isOutput ? await output.endWithDocument(chunk => lane.write(chunk)) : undefined
      if (!isOutput) for (const extra of output?.endWithCalls() ?? []) await write(extra)
      // The output of a sub-agent goes to its parent.
      const outputChunk: Chunk[] = document === undefined || work.parent ? [] : [{ type: 'output', output: document }]
      const finishReason = answer.finishReason ?? 'other'
      call.end()
      const { usage, warnings, providerMetadata, raw } = answer
      return {
        committedChunks: [...withFittingOutputs(committedChunks, lane), ...outputChunk, finishOf(answer, lane)],
        calls,
        requestedCalls,
        callIds: answer.callIds,
        finishReason,
        lane,
        output: document,
        text,
        line: output === undefined ? lastLineOf(answer.lastText) : undefined,
        response: { usage, warnings, providerMetadata, raw, discarded },
      }
    } catch (error) {
      signal.throwIfAborted()
      // A proxy may throw when it is read.
      if (MillraceError.isInstance(error) && error instanceof BudgetError) {
        span?.end(error)
        logger.warn('a model’s answer was cut off', { runId, step, attempt, code: error.code, cause: error })
        if (!isStarted) throw error
        await writeIncompleteUsage(lane, answer, reader.estimatedTokens)
        throw new IncompleteAnswerError(error, outputsIn(answer, lane))
      }
      const refusal = logErrorCode(error)
      const isTooLarge = refusal === 'too-large' && output !== undefined
      if (refusal !== undefined && !isTooLarge) throw error
      const failure = isTooLarge
        ? outputInvalid('the answer exceeds the size limit of the log', error)
        : classifyProviderError(error)
      // Readers without drafts also learn that the object is not valid.
      if (isStarted) for (const extra of output?.invalidate(failure.code) ?? []) lane.write(extra)
      span?.end(failure)
      logger.warn('a model call failed', { runId, step, attempt, code: failure.code, cause: failure.cause ?? failure })
      // If nothing was written, there is nothing to discard (law 3).
      if (isStarted) await discardAttempt(lane, answer, attempt, failure)
      if (isStarted && answer.usage) discarded.push(answer.usage)
      if (!failure.retryable || attempt > agent.maxRetries) throw failure
      if (failure.code === 'output_invalid') corrections.splice(0, corrections.length, ...correctionOf(answer, failure))
      else {
        const pause = sleep(timers, retryDelayMs(backoff, attempt, failure), AbortSignal.any([signal, handover]))
        await pause.catch(() => signal.throwIfAborted())
      }
    }
  }
}

/** Number of rewinds of a session. It is the same for every driver, because a rewind does not remove requests. */
const rewindsOf = ({ requests }: View): number =>
  requests.filter(({ cut, status }) => cut !== undefined && status === 'started').length

/** How long to keep reading a failed answer for its usage, in ms. */
const USAGE_WAIT_MS = 1000

/** Reads one answer to its end. */
async function readAnswer(
  { writer, signal, timers }: AgentExecution,
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  reader: PartReader,
  answer: ModelAnswer,
  span: ModelCallTelemetry,
  startStep: () => PromiseLike<void>,
): Promise<void> {
  let isComplete = false
  try {
    // Side effects start only while the lease is valid for sure.
    await writer.whenLeaseValid()
    signal.throwIfAborted()
    await reader.open(() => model.doStream(options))
    await startStep()
    for (let part = await reader.next(); part !== undefined; part = await reader.next()) {
      span.received(part)
      await answer.onPart(part)
      await yieldToEventLoop(timers)
      if (answer.failure !== undefined) reader.endAfter(USAGE_WAIT_MS)
    }
    isComplete = answer.isComplete
  } catch (error) {
    signal.throwIfAborted()
    // What follows an error of the provider does not matter.
    throw answer.failure ?? error
  } finally {
    reader.close(isComplete)
  }
  if (answer.failure !== undefined) throw answer.failure
  if (!answer.isComplete) throw streamCutError()
}

function optionsOf(
  { agent, session, runId, agentId, prefix = '' }: AgentExecution,
  step: number,
  attempt: number,
  prompt: LanguageModelV4Prompt,
  tools: ReadonlyMap<string, Callable>,
  abortSignal: AbortSignal,
  responseFormat: LanguageModelV4CallOptions['responseFormat'],
): LanguageModelV4CallOptions {
  const { providerOptions, ...settings } = agent.settings
  const declaredTools = [...tools.values()].map(tool => {
    if (tool.executor === 'provider') return { type: 'provider', id: tool.id, name: tool.name, args: { ...tool.args } }
    const { name, jsonSchema: inputSchema, description } = tool
    const { strict, providerOptions } = tool.executor === 'agent' ? {} : tool
    return {
      type: 'function',
      name,
      inputSchema,
      ...(description !== undefined && { description }),
      ...(strict !== undefined && { strict }),
      ...(providerOptions !== undefined && { providerOptions }),
    }
  })
  return {
    ...settings,
    // Some providers change their arguments, and retries must send the same prompt.
    prompt: deepCopy(prompt),
    abortSignal,
    // Idempotency key of this call, for models that support it.
    providerOptions: {
      ...providerOptions,
      millrace: { key: keyOf(session.id, runId, agentId, `${prefix}${step}`), attempt },
    },
    ...(declaredTools.length > 0 && { tools: declaredTools }),
    ...(responseFormat && { responseFormat }),
  } as LanguageModelV4CallOptions
}

/** How to request the output from the model, if there is one: by response format, or else by the prompt. */
function formatOf({ agent, responseFormat: customFormat }: AgentExecution, definedModel: Model) {
  const { name, jsonSchema } = agent
  if (!jsonSchema) return customFormat && { responseFormat: customFormat, instructions: undefined, learn: () => {} }
  const format = jsonFormatOf(definedModel, { schema: jsonSchema, name })
  const responseFormat = customFormat ?? format.responseFormat
  const hasSchema = responseFormat?.type === 'json' && responseFormat.schema !== undefined
  return {
    responseFormat,
    // A custom format may not contain the schema.
    instructions: hasSchema ? format.instructions : schemaInstructions(jsonSchema),
    learn: ({ warnings, isComplete }: ModelAnswer) =>
      void learnFromWarnings(definedModel, warnings, responseFormat ? { responseFormat } : {}, isComplete),
  }
}

function finishOf({ usage, finishReason, warnings, providerMetadata }: ModelAnswer, { isInternal }: Lane): Chunk {
  const publicFields = { type: 'step-finish', ...(usage && { usage }), ...(finishReason && { finishReason }) } as const
  // Readers see the usage of an internal lane, but the provider's metadata may contain its text.
  if (isInternal) return publicFields
  return {
    ...publicFields,
    ...(warnings.length > 0 && { warnings: warnings as unknown as Json[] }),
    ...(providerMetadata && { providerMetadata }),
  }
}

/**
 * Writes the usage of an answer that was cut off. Providers charge for it, so it counts as reported so far, or else by
 * the estimate.
 */
async function writeIncompleteUsage(lane: Lane, { usage }: ModelAnswer, estimatedTokens: number): Promise<void> {
  const { totalTokens, ...counts } = usage ?? {}
  const outputTokens = Math.max(counts.outputTokens ?? 0, estimatedTokens)
  await lane.write({ type: 'step-finish', usage: { ...counts, outputTokens }, finishReason: 'length' }).appended
}

/** The outputs of provider tools in an answer that was cut off. Its calls of other tools never run. */
const outputsIn = ({ committedChunks }: ModelAnswer, lane: Lane): BatchItem[] =>
  fittingOutputs(committedChunks, lane).map(chunk => ({ chunk, lane }))

/** Discards an attempt. Its usage still counts. */
async function discardAttempt(lane: Lane, answer: ModelAnswer, attempt: number, failure: MillraceError): Promise<void> {
  const { usage } = answer
  // Written before the discard, with the text of the attempt: usage counts as discarded only if something is discarded.
  if (usage) await lane.write({ ...finishOf(answer, lane), finishReason: 'error' } as Chunk).appended
  await lane.discard({ reason: failure.code, attempt, ...(usage && { usage }) })
}

/** The messages that ask the model for a valid answer. They are not part of the conversation. */
function correctionOf({ text }: ModelAnswer, failure: MillraceError): LanguageModelV4Prompt {
  // Roles alternate, and some providers reject an empty message.
  const answerText = text.trim() === '' ? '(nothing)' : text
  const correction = `${excerpt(outputProblem(failure))}. Answer again, with the whole JSON document and nothing else.`
  return [{ role: 'assistant', content: [{ type: 'text', text: answerText }] }, syntheticMessage(correction)]
}
