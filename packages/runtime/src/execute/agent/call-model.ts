// A step's model call: attempt after attempt, each a draft that is either committed or taken back.

import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Lane } from '@millrace/log'
import type { Chunk, Json, Usage, View } from '@millrace/protocol'
import { sleep } from '../../async/sleep.ts'
import { yieldToEventLoop } from '../../async/yield-to-event-loop.ts'
import { compute } from '../../define/agent.ts'
import type { Callable } from '../../define/tool.ts'
import { classifyProviderError } from '../../error/classify-provider-error.ts'
import type { MillraceError } from '../../error/error.ts'
import { excerpt } from '../../error/excerpt.ts'
import { logErrorCode } from '../../error/log-error.ts'
import { backoffMs } from '../../model/backoff.ts'
import { jsonFormatOf, learnFromWarnings, schemaInstructions } from '../../model/json-format.ts'
import { asV4, type Model, modelName } from '../../model/model.ts'
import { ModelAnswer, streamCutError } from '../../model/model-answer.ts'
import { promptOf, syntheticMessage } from '../../model/prompt.ts'
import { deepCopy } from '../../schema/deep-copy.ts'
import { keyOf } from '../../session/key.ts'
import { lastLineOf } from '../../session/last-line.ts'
import type { ModelCallTelemetry } from '../../telemetry/model-span.ts'
import { outputInvalid, problemOf } from '../output-stream.ts'
import { type AgentExecution, type CompletedModelCall, contextOf, longestCallId } from '../program-execution.ts'

/** Calls the model until an answer is whole and fits; undefined where another process is to make the next attempt; throws where it cannot be had. */
export async function callModel(
  work: AgentExecution,
  step: number,
  tools: ReadonlyMap<string, Callable>,
): Promise<CompletedModelCall | undefined> {
  const { agent, session, runId, timers, backoff, signal, handover, logger } = work
  const context = contextOf(work, step)
  const given = await compute(agent.model, context)
  const model = asV4(given, `agent ${agent.name}: model`)
  const instructions = await compute(agent.instructions, context)
  const history = await work.history()
  const kept = agent.trimHistory ? await agent.trimHistory(deepCopy(history), context) : history
  // Only of what is left: nobody reads a file that the model is not shown.
  const messages = await session.withUploads(kept)
  const lane = work.lane(step, modelName(model))
  const corrections: LanguageModelV4Prompt = []
  const discarded: Usage[] = []
  for (let attempt = 1; ; attempt++) {
    // Between attempts nothing is under way that could be finished.
    if (attempt > 1 && handover.aborted) return undefined
    // What was taken back is free again.
    if (attempt > 1) await session.refresh()
    const output = work.output(step)
    const say = (chunk: Chunk) => lane.write(chunk, work.isHidden?.(chunk) ? { internal: true } : undefined)
    const format = formatOf(work, given)
    const prompt = promptOf(messages, [instructions, format?.told].filter(Boolean).join('\n\n'))
    const answer = new ModelAnswer({
      step,
      prefix: work.prefix,
      tools,
      isTaken: id => session.hasCall(id),
      reserve: id => session.reserve(id, lane.origin.lane),
      maxIdLength: longestCallId(lane),
      rewinds: rewindsOf(session.view),
      write(chunk) {
        for (const said of output?.before(chunk) ?? []) say(said)
        return say(chunk)
      },
      fits: said => lane.fits(said),
      sink: output,
    })
    let isBegun = false
    let told: ModelCallTelemetry | undefined
    try {
      const options = optionsOf(work, step, attempt, [...prompt, ...corrections], tools, format?.responseFormat)
      const call = work.telemetry.modelCall({ model, options, step, attempt })
      told = call
      const begin = () => {
        isBegun = true
        const stepId = work.prefix && { stepId: `${work.prefix}${step}` }
        return lane.write({ type: 'step-start', ...stepId, ...(attempt > 1 && { attempt }) })
      }
      await call.within(() => readAnswer(work, model, options, answer, call, begin)).finally(() => format?.note(answer))
      const { facts, calls, requestedCalls, text } = answer
      const isOutput = output !== undefined && calls === 0
      const given = isOutput ? await output.settle(chunk => lane.write(chunk)) : undefined
      if (!isOutput) for (const said of output?.leave() ?? []) await say(said)
      // That of a sub-agent is for its parent.
      const said: Chunk[] = given === undefined || work.parent ? [] : [{ type: 'output', output: given }]
      const finishReason = answer.finishReason ?? 'other'
      call.end()
      const { usage, warnings, providerMetadata, raw } = answer
      const about = { usage, warnings, providerMetadata, raw, discarded }
      return {
        facts: [...facts, ...said, finishOf(answer, lane)],
        calls,
        made: requestedCalls,
        callIds: answer.callIds,
        finishReason,
        lane,
        output: given,
        text,
        line: output === undefined ? lastLineOf(answer.lastText) : undefined,
        about,
      }
    } catch (error) {
      signal.throwIfAborted()
      const refusal = logErrorCode(error)
      const isTooLarge = refusal === 'too-large' && output !== undefined
      if (refusal !== undefined && !isTooLarge) throw error
      const failure = isTooLarge
        ? outputInvalid('the answer is larger than the log takes', error)
        : classifyProviderError(error)
      // Also for those who know nothing of drafts: nobody takes for done what did not fit.
      if (isBegun) for (const said of output?.invalidate(failure.code) ?? []) lane.write(said)
      told?.end(failure)
      logger.warn('a model call failed', { runId, step, attempt, code: failure.code, cause: failure.cause ?? failure })
      // Where nothing was said there is nothing to take back (law 3): not what opened the message either.
      if (isBegun) await takeBack(lane, answer, attempt, failure)
      if (isBegun && answer.usage) discarded.push(answer.usage)
      if (!failure.retryable || attempt > agent.maxRetries) throw failure
      if (failure.code === 'output_invalid') corrections.splice(0, corrections.length, ...correctionOf(answer, failure))
      else {
        const pause = sleep(timers, backoffMs(backoff, attempt, failure), AbortSignal.any([signal, handover]))
        await pause.catch(() => signal.throwIfAborted())
      }
    }
  }
}

/** How often a session was taken back: the same for whoever drives it, as no rewind takes that back. */
const rewindsOf = ({ requests }: View): number =>
  requests.filter(({ cut, status }) => cut !== undefined && status === 'started').length

/** How long an answer that has failed is listened to, for what it used. */
const USAGE_WAIT_MS = 1000

/** Listens to one answer, from the first part to the last. */
async function readAnswer(
  { writer, signal, timers }: AgentExecution,
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  answer: ModelAnswer,
  told: ModelCallTelemetry,
  begin: () => PromiseLike<void>,
): Promise<void> {
  // What others must not do meanwhile begins only while the lease surely lasts.
  await writer.sure()
  signal.throwIfAborted()
  const { stream } = await model.doStream(options)
  const reader = stream.getReader()
  const cancel = () => void reader.cancel(signal.reason).catch(() => {})
  signal.addEventListener('abort', cancel, { once: true })
  if (signal.aborted) cancel()
  let cancelWait: (() => void) | undefined
  try {
    await begin()
    for (;;) {
      const { done, value } = await reader.read()
      signal.throwIfAborted()
      if (done) break
      told.received(value)
      await answer.take(value)
      await yieldToEventLoop(timers)
      if (answer.failure !== undefined) cancelWait ??= timers.after(USAGE_WAIT_MS, cancel)
    }
  } catch (error) {
    cancel()
    throw error
  } finally {
    cancelWait?.()
    signal.removeEventListener('abort', cancel)
  }
  if (answer.failure !== undefined) throw answer.failure
  if (!answer.isWhole) throw streamCutError()
}

function optionsOf(
  { agent, session, runId, agentId, signal, prefix = '' }: AgentExecution,
  step: number,
  attempt: number,
  prompt: LanguageModelV4Prompt,
  tools: ReadonlyMap<string, Callable>,
  responseFormat: LanguageModelV4CallOptions['responseFormat'],
): LanguageModelV4CallOptions {
  const { providerOptions, ...settings } = agent.settings
  const known = [...tools.values()].map(tool => {
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
    // Some providers write into what they are given; the session and the next attempt are to say the same.
    prompt: deepCopy(prompt),
    abortSignal: signal,
    // The same whenever this call is made again, for models that can tell.
    providerOptions: {
      ...providerOptions,
      millrace: { key: keyOf(session.id, runId, agentId, `${prefix}${step}`), attempt },
    },
    ...(known.length > 0 && { tools: known }),
    ...(responseFormat && { responseFormat }),
  } as LanguageModelV4CallOptions
}

/** How the model is asked for the output, if there is one: as it can be, and in the prompt where it cannot. */
function formatOf({ agent, responseFormat: wanted }: AgentExecution, given: Model) {
  if (!agent.output) return wanted && { responseFormat: wanted, told: undefined, note: () => {} }
  const format = jsonFormatOf(given, { schema: agent.output.jsonSchema, name: agent.name })
  const responseFormat = wanted ?? format.responseFormat
  const isSaid = responseFormat?.type === 'json' && responseFormat.schema !== undefined
  return {
    responseFormat,
    // Another may want a format that does not say the schema.
    told: isSaid ? format.instructions : schemaInstructions(agent.output.jsonSchema),
    note: ({ warnings, isWhole }: ModelAnswer) =>
      void learnFromWarnings(given, warnings, responseFormat ? { responseFormat } : {}, isWhole),
  }
}

function finishOf({ usage, finishReason, warnings, providerMetadata }: ModelAnswer, { isInternal }: Lane): Chunk {
  const about = { type: 'step-finish', ...(usage && { usage }), ...(finishReason && { finishReason }) } as const
  // Readers see what was used, whatever was said; what a provider says of that may tell it.
  if (isInternal) return about
  return {
    ...about,
    ...(warnings.length > 0 && { warnings: warnings as unknown as Json[] }),
    ...(providerMetadata && { providerMetadata }),
  }
}

/** Takes an attempt's words back; what it used stays counted. */
async function takeBack(lane: Lane, answer: ModelAnswer, attempt: number, failure: MillraceError): Promise<void> {
  const { usage } = answer
  // In the log before the discard, and the attempt's words with it: what was used counts as discarded only where something is taken back.
  if (usage) await lane.write({ ...finishOf(answer, lane), finishReason: 'error' } as Chunk).appended
  await lane.discard({ reason: failure.code, attempt, ...(usage && { usage }) })
}

/** What the model is told so that its next answer fits; it is no part of the conversation. */
function correctionOf({ text }: ModelAnswer, failure: MillraceError): LanguageModelV4Prompt {
  // Roles take turns, and some providers refuse a message that says nothing.
  const said = text.trim() === '' ? '(nothing)' : text
  const asked = `${excerpt(problemOf(failure))}. Answer again, with the whole JSON document and nothing else.`
  return [{ role: 'assistant', content: [{ type: 'text', text: said }] }, syntheticMessage(asked)]
}
