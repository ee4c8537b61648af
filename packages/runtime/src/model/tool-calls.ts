// The tool calls of one answer: their ids, their streaming inputs, and the results of provider tools.

import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { Chunk, Executor, Json, JsonObject } from '@millrace/protocol'
import { excerpt, MAX_JSON_DEPTH } from '@millrace/protocol/internal'
import { isAccepted } from '../error/log-error-code.ts'
import { deepCopy } from '../schema/deep-copy.ts'
import { type Schema, validate } from '../schema/schema.ts'
import { boundedMetadata, mergeMetadata, metadataOf } from './provider-metadata.ts'

type Part<Type extends LanguageModelV4StreamPart['type']> = Extract<LanguageModelV4StreamPart, { type: Type }>

/** The fields of a tool definition that the calls of an answer need. */
export type AnswerTool =
  | { readonly executor: 'server' | 'client' | 'agent'; readonly title?: string; readonly inputSchema: Schema }
  | { readonly executor: 'provider' }

export interface ToolCallsOptions<Tool extends AnswerTool> {
  readonly step: number
  readonly tools: ReadonlyMap<string, Tool>
  /** Whether the session has a call with this id. */
  isTaken(toolCallId: string): boolean
  /** Reserves an id for a call. Returns false if the session has a call with it, or another lane reserved it. */
  reserve(toolCallId: string): boolean
  /** Maximum length of a provider's call id, in characters. A longer one is replaced. */
  readonly maxIdLength: number
  /** Number of rewinds of the session. */
  readonly rewinds: number
  /** Writes a draft chunk. Its promise applies backpressure. */
  write(chunk: Chunk): PromiseLike<void>
  /** Whether the log accepts these chunks in one commit. */
  fits(chunks: readonly Chunk[]): boolean
  /** Adds a warning for the user. */
  warn(message: string): void
}

/** Maximum length of a tool's name and title, in characters. Definitions are limited to less. */
const MAX_NAME_LENGTH = 256
/** Suffix of the ids of client calls: the number of rewinds of the session. */
const REWIND_SUFFIX = /-r\d+$/
/** A result of more characters may exceed the size limit of the log. */
const LARGE_RESULT_LENGTH = 64 * 1024

/** A valid call that the server, a client or a sub-agent has to execute. */
export interface RequestedCall<Tool extends AnswerTool = AnswerTool> {
  readonly toolCallId: string
  readonly tool: Exclude<Tool, { readonly executor: 'provider' }>
  readonly input: Json
  /** The input as the tool's schema returned it. */
  readonly parsedInput: unknown
}

/** A call from its first stream part. */
interface StreamedCall {
  readonly id: string
  toolName: string
  executor: Executor
  metadata: JsonObject | undefined
  /** Whether `tool-input-start` is written. */
  isStarted: boolean
  /** Whether its input is complete. */
  isComplete: boolean
  /** Whether its input streams as plain text, not as JSON. */
  readonly isRaw: boolean
  hasInput: boolean
}

export class ToolCalls<Tool extends AnswerTool = AnswerTool> {
  /** The chunks for the commit: outputs of provider tools, and calls of client tools. */
  readonly committedChunks: Chunk[] = []
  /** Number of calls whose outcome the model expects. */
  count = 0
  /** The calls among them that have to be executed. */
  readonly requested: RequestedCall<Tool>[] = []
  readonly #options: ToolCallsOptions<Tool>
  /** The latest call by provider id. */
  readonly #calls = new Map<string, StreamedCall>()
  readonly #ids = new Set<string>()

  constructor(options: ToolCallsOptions<Tool>) {
    this.#options = options
  }

  /** The ids of all calls. */
  get ids(): readonly string[] {
    return [...this.#ids]
  }

  /** Starts a call whose input streams. */
  async start(part: Part<'tool-input-start'>): Promise<void> {
    const call = this.#add(part.id, part.toolName, part.providerExecuted, part.inputEncoding === 'text')
    call.metadata = metadataOf(part).providerMetadata
    await this.#writeStart(call, {
      ...(part.title !== undefined && { title: excerpt(part.title, MAX_NAME_LENGTH) }),
      ...(part.dynamic && { dynamic: true }),
      ...metadataOf(part),
    })
  }

  /** Writes a delta of an input. Without a start it is ignored, because the call contains the complete input. */
  async delta({ id, delta }: Part<'tool-input-delta'>): Promise<void> {
    const call = this.#calls.get(id)
    if (!call || call.isComplete || delta === '') return
    const text = call.isRaw ? `${call.hasInput ? '' : '"'}${JSON.stringify(delta).slice(1, -1)}` : delta
    call.hasInput = true
    await this.#options.write({ type: 'tool-input-delta', toolCallId: call.id, delta: text })
  }

  /** Ends the input of a call. */
  async end({ id }: Part<'tool-input-end'>): Promise<void> {
    const call = this.#calls.get(id)
    if (!call?.isRaw || call.isComplete) return
    await this.#options.write({ type: 'tool-input-delta', toolCallId: call.id, delta: call.hasInput ? '"' : '""' })
  }

  /** Completes a call with its complete input. The model gets a problem of the input as the outcome of the call. */
  async complete(part: Part<'tool-call'>): Promise<void> {
    const { tools, write } = this.#options
    const toolName = toolNameOf(part.toolName)
    const streamed = this.#calls.get(part.toolCallId)
    const { executor, ...title } = this.#executorOf(toolName, part.providerExecuted)
    // A client call never shares the id of another call.
    if (streamed && !streamed.isComplete && executor === 'client' && streamed.executor !== 'client') {
      await this.#fail(streamed)
    }
    // A provider may use one id for two calls.
    const call =
      streamed && !streamed.isComplete ? streamed : this.#add(part.toolCallId, toolName, part.providerExecuted, false)
    Object.assign(call, { toolName, executor, isComplete: true })
    call.metadata = mergeMetadata(call.metadata, part.providerMetadata).providerMetadata
    const isProviderCall = executor === 'provider'
    if (!isProviderCall) this.count++
    const parsed = parseInput(part.input)
    if ('problem' in parsed) return this.#reject(call, parsed.problem, part.input)
    const tool = tools.get(toolName)
    if (!isProviderCall && (tool === undefined || tool.executor === 'provider')) {
      const names = [...tools.keys()].join(', ')
      return this.#reject(call, `there is no tool ${toolName}${names && `, expected one of ${names}`}`, parsed.value)
    }
    let parsedInput: unknown
    if (tool && tool.executor !== 'provider') {
      const checked = await validate(tool.inputSchema, deepCopy(parsed.value))
      if ('problem' in checked)
        return this.#reject(call, `the input does not match its schema: ${checked.problem}`, parsed.value)
      parsedInput = checked.value
    }
    const chunk: Chunk = {
      type: 'tool-input-available',
      toolCallId: call.id,
      toolName,
      input: parsed.value,
      executor,
      ...title,
      ...(part.dynamic && { dynamic: true }),
      ...(call.metadata && { providerMetadata: call.metadata }),
    }
    // A client call becomes visible with the commit, because a draft may be discarded.
    if (!(executor === 'client' ? this.#addCommitted(chunk) : await isAccepted(() => write(chunk)))) {
      return this.#reject(
        call,
        'the input exceeds the size limit of the log: shorten it, or split it into several calls',
        part.input,
      )
    }
    if (!isProviderCall && tool && tool.executor !== 'provider') {
      this.requested.push({
        toolCallId: call.id,
        tool: tool as RequestedCall<Tool>['tool'],
        input: parsed.value,
        parsedInput,
      })
    }
  }

  /** Adds a chunk for the commit if it fits a commit alone. The committer checks whether all of them fit together. */
  #addCommitted(chunk: Chunk): boolean {
    if (!this.#options.fits([chunk])) return false
    this.committedChunks.push(chunk)
    return true
  }

  /** Takes the result of a provider tool. A preliminary result is a draft chunk, any other a committed chunk. */
  async result(part: Part<'tool-result'>): Promise<void> {
    const { isTaken, write, warn } = this.#options
    const call = this.#calls.get(part.toolCallId)
    // The call may be part of an earlier answer.
    if (!call && !isTaken(part.toolCallId)) return warn(`a result of ${part.toolName} was dropped: it has no call`)
    const toolCallId = call?.id ?? part.toolCallId
    const text = JSON.stringify(part.result) ?? 'null'
    if (part.isError) {
      const errorText = typeof part.result === 'string' ? part.result : text
      this.committedChunks.push({
        type: 'tool-output-error',
        toolCallId,
        errorText: excerpt(errorText),
        executor: 'provider',
      })
      return
    }
    const output = {
      type: 'tool-output-available',
      executor: 'provider',
      toolCallId,
      output: (part.result ?? null) as Json,
      ...boundedMetadata(mergeMetadata(call?.metadata, part.providerMetadata).providerMetadata, warn),
    } as const
    const preliminary = { ...output, preliminary: true }
    if (part.preliminary) {
      if (!(await isAccepted(() => write(preliminary))))
        warn(`progress of ${part.toolName} was dropped: it exceeds the size limit of the log`)
      return
    }
    // A commit that the log rejects would fail the run, so a large result is first written as a draft chunk.
    if (text.length <= LARGE_RESULT_LENGTH || (await isAccepted(() => write(preliminary))))
      this.committedChunks.push(output)
    else {
      const errorText = 'the output exceeds the size limit of the log'
      this.committedChunks.push({
        type: 'tool-output-error',
        toolCallId,
        errorText,
        code: 'tool_output_too_large',
        executor: 'provider',
      })
    }
  }

  /** Ends the answer. Calls without a complete input become input errors. */
  async close(): Promise<void> {
    for (const call of this.#calls.values()) if (!call.isComplete) await this.#fail(call)
  }

  #fail(call: StreamedCall): Promise<void> {
    call.isComplete = true
    if (call.executor !== 'provider') this.count++
    return this.#reject(call, 'the input was cut off')
  }

  /** Adds a call. Ids are unique in the session, so a used one is replaced. */
  #add(providerId: string, name: string, providerExecuted: boolean | undefined, isRaw: boolean): StreamedCall {
    const { step, reserve, maxIdLength, rewinds } = this.#options
    const toolName = toolNameOf(name)
    const { executor } = this.#executorOf(toolName, providerExecuted)
    // A client may still answer a call that was rewound, so its id is never used again.
    const hasSuffix = executor === 'client' && (rewinds > 0 || REWIND_SUFFIX.test(providerId))
    const suffix = hasSuffix ? `-r${rewinds}` : ''
    const base =
      providerId && providerId.length + suffix.length <= maxIdLength ? providerId : `call-${step}-${this.#ids.size + 1}`
    let id = `${base}${suffix}`
    for (let n = 2; this.#ids.has(id) || !reserve(id); n++) id = `${base}-${n}${suffix}`
    this.#ids.add(id)
    const rest = { metadata: undefined, isStarted: false, isComplete: false, isRaw, hasInput: false }
    const call: StreamedCall = { id, toolName, executor, ...rest }
    this.#calls.set(providerId, call)
    return call
  }

  #executorOf(toolName: string, providerExecuted = false): { executor: Executor; title?: string } {
    const tool = this.#options.tools.get(toolName)
    if (providerExecuted || tool?.executor === 'provider') return { executor: 'provider' }
    const executor = tool?.executor === 'client' ? 'client' : 'server'
    return { executor, ...(tool?.title !== undefined && { title: tool.title }) }
  }

  #writeStart(call: StreamedCall, more: object = {}): PromiseLike<void> {
    const { id, toolName, executor } = call
    call.isStarted = true
    const fields = this.#executorOf(toolName, executor === 'provider')
    return this.#options.write({ type: 'tool-input-start', toolCallId: id, toolName, ...fields, ...more })
  }

  /** Writes an input error, with the input received so far, or with an excerpt of it if the log does not accept it. */
  async #reject(call: StreamedCall, reason: string, partialInput?: Json): Promise<void> {
    const { write } = this.#options
    // The reason may quote the model, so it is bounded.
    const errorText = excerpt(reason)
    const { id: toolCallId, toolName } = call
    if (!call.isStarted) await this.#writeStart(call)
    const error = { type: 'tool-input-error', toolCallId, toolName, errorText } as const
    if (partialInput === undefined) return write(error)
    if (await isAccepted(() => write({ ...error, partialInput }))) return
    const text = typeof partialInput === 'string' ? partialInput : JSON.stringify(partialInput)
    return write({ ...error, partialInput: excerpt(text) })
  }
}

const toolNameOf = (toolName: string): string => excerpt(toolName, MAX_NAME_LENGTH)

/** Parses the input of a call. An empty text means no arguments. */
function parseInput(text: string): { readonly value: Json } | { readonly problem: string } {
  if (text.trim() === '') return { value: {} }
  try {
    const value = JSON.parse(text) as Json
    return isTooDeep(value) ? { problem: `the input has more than ${MAX_JSON_DEPTH} levels: flatten it` } : { value }
  } catch (error) {
    return { problem: `the input is not JSON: ${(error as Error).message}` }
  }
}

/** Whether a value is nested deeper than the log, schemas and copies support. */
function isTooDeep(value: Json): boolean {
  let level = [value].filter(isContainer)
  for (let depth = 1; depth <= MAX_JSON_DEPTH && level.length > 0; depth++) {
    level = level.flatMap(item => Object.values(item).filter(isContainer))
  }
  return level.length > 0
}

const isContainer = (value: Json): value is Json[] | JsonObject => typeof value === 'object' && value !== null
