// The calls of one answer: their ids, their inputs as they stream, and what came of those that the provider ran.

import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { type Chunk, type Executor, type Json, type JsonObject, MAX_JSON_DEPTH } from '@millrace/protocol'
import { excerpt } from '../error/excerpt.ts'
import { isAccepted } from '../error/log-error.ts'
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
  /** Whether the session has a call by that id. */
  isTaken(toolCallId: string): boolean
  /** Takes an id for a call; false where the session has a call by it, or is about to. */
  reserve(toolCallId: string): boolean
  /** The longest id of a call that is taken from a provider as it is. */
  readonly longestId: number
  /** How often the session was taken back. */
  readonly rewinds: number
  /** Takes a word; may ask to wait. */
  write(chunk: Chunk): PromiseLike<void>
  /** Whether the log would take these facts in one commit. */
  fits(facts: readonly Chunk[]): boolean
  /** Takes what people should know and no part says. */
  warn(message: string): void
}

/** So much of a tool's name and title is kept; no tool has one as long. */
const MAX_NAME_LENGTH = 256
/** How ids of calls end that are told apart by how often the session was taken back. */
const REWIND_SUFFIX = /-r\d+$/
/** From so many characters on a result may be larger than the log takes. */
const LARGE_RESULT_LENGTH = 64 * 1024

/** A call that has to run, or be run by somebody. */
export interface RequestedCall<Tool extends AnswerTool = AnswerTool> {
  readonly toolCallId: string
  readonly tool: Exclude<Tool, { readonly executor: 'provider' }>
  readonly input: Json
  /** The input as the tool's schema has it. */
  readonly parsedInput: unknown
}

/** A call, from the first word of it. */
interface StreamedCall {
  readonly id: string
  toolName: string
  executor: Executor
  metadata: JsonObject | undefined
  /** Whether it was said that it begins, and whether it was made. */
  isStarted: boolean
  isMade: boolean
  /** Whether its input streams as raw text and not as JSON. */
  readonly isRaw: boolean
  hasInput: boolean
}

export class ToolCalls<Tool extends AnswerTool = AnswerTool> {
  /** The outcomes of calls that the provider ran, and the calls that a client is to run: they wait for the commit. */
  readonly facts: Chunk[] = []
  /** How many calls the model is to be told the outcome of. */
  count = 0
  /** Those of them that have to run for that. */
  readonly made: RequestedCall<Tool>[] = []
  readonly #options: ToolCallsOptions<Tool>
  /** The latest call under each id that the provider gave. */
  readonly #calls = new Map<string, StreamedCall>()
  readonly #ids = new Set<string>()

  constructor(options: ToolCallsOptions<Tool>) {
    this.#options = options
  }

  /** The ids of all calls. */
  get ids(): readonly string[] {
    return [...this.#ids]
  }

  /** A call begins, its input streams. */
  async start(part: Part<'tool-input-start'>): Promise<void> {
    const call = this.#add(part.id, part.toolName, part.providerExecuted, part.inputEncoding === 'text')
    call.metadata = metadataOf(part).providerMetadata
    await this.#sayStart(call, {
      ...(part.title !== undefined && { title: excerpt(part.title, MAX_NAME_LENGTH) }),
      ...(part.dynamic && { dynamic: true }),
      ...metadataOf(part),
    })
  }

  /** A piece of an input; that of a call which did not begin comes whole with the call. */
  async delta({ id, delta }: Part<'tool-input-delta'>): Promise<void> {
    const call = this.#calls.get(id)
    if (!call || call.isMade || delta === '') return
    const text = call.isRaw ? `${call.hasInput ? '' : '"'}${JSON.stringify(delta).slice(1, -1)}` : delta
    call.hasInput = true
    await this.#options.write({ type: 'tool-input-delta', toolCallId: call.id, delta: text })
  }

  /** The end of an input. */
  async end({ id }: Part<'tool-input-end'>): Promise<void> {
    const call = this.#calls.get(id)
    if (!call?.isRaw || call.isMade) return
    await this.#options.write({ type: 'tool-input-delta', toolCallId: call.id, delta: call.hasInput ? '"' : '""' })
  }

  /** A call is made, with its whole input. What is wrong with it is an outcome that the model is told. */
  async make(part: Part<'tool-call'>): Promise<void> {
    const { tools, write } = this.#options
    const toolName = toolNameOf(part.toolName)
    const known = this.#calls.get(part.toolCallId)
    const { executor, ...about } = this.#about(toolName, part.providerExecuted)
    // The ids of clients' calls are their own.
    if (known && !known.isMade && executor === 'client' && known.executor !== 'client') await this.#cutOff(known)
    // A provider that makes two calls under one id means two calls.
    const call = known && !known.isMade ? known : this.#add(part.toolCallId, toolName, part.providerExecuted, false)
    Object.assign(call, { toolName, executor, isMade: true })
    call.metadata = mergeMetadata(call.metadata, part.providerMetadata).providerMetadata
    const isProviders = executor === 'provider'
    if (!isProviders) this.count++
    const read = parseInput(part.input)
    if ('problem' in read) return this.#refuse(call, read.problem, part.input)
    const tool = tools.get(toolName)
    if (!isProviders && (tool === undefined || tool.executor === 'provider')) {
      const names = [...tools.keys()].join(', ')
      return this.#refuse(call, `there is no tool ${toolName}${names && `, only ${names}`}`, read.value)
    }
    let taken: unknown
    if (tool && tool.executor !== 'provider') {
      const checked = await validate(tool.inputSchema, deepCopy(read.value))
      if ('problem' in checked) return this.#refuse(call, `the input does not fit: ${checked.problem}`, read.value)
      taken = checked.value
    }
    const chunk: Chunk = {
      type: 'tool-input-available',
      toolCallId: call.id,
      toolName,
      input: read.value,
      executor,
      ...about,
      ...(part.dynamic && { dynamic: true }),
      ...(call.metadata && { providerMetadata: call.metadata }),
    }
    // What a client is to run is asked for by the commit: before that it may be taken back.
    if (!(executor === 'client' ? this.#keep(chunk) : await isAccepted(() => write(chunk)))) {
      return this.#refuse(call, 'the input is larger than the log takes: say less, or in several calls', part.input)
    }
    if (!isProviders && tool && tool.executor !== 'provider') {
      this.made.push({
        toolCallId: call.id,
        tool: tool as RequestedCall<Tool>['tool'],
        input: read.value,
        parsedInput: taken,
      })
    }
  }

  /** Keeps a fact for the commit, if that has room for it alone: beside the others is for who commits it. */
  #keep(chunk: Chunk): boolean {
    if (!this.#options.fits([chunk])) return false
    this.facts.push(chunk)
    return true
  }

  /** What came of a call that the provider ran: a preliminary result is a word, all else a fact. */
  async result(part: Part<'tool-result'>): Promise<void> {
    const { isTaken, write, warn } = this.#options
    const call = this.#calls.get(part.toolCallId)
    // A provider may tell in one answer what came of a call in another.
    if (!call && !isTaken(part.toolCallId))
      return warn(`a result came for a call of ${part.toolName} that was not made`)
    const toolCallId = call?.id ?? part.toolCallId
    const text = JSON.stringify(part.result) ?? 'null'
    if (part.isError) {
      const errorText = typeof part.result === 'string' ? part.result : text
      this.facts.push({
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
        warn(`progress of ${part.toolName} is larger than the log takes`)
      return
    }
    // A fact that the log refuses would be the end of the run: what may be too large is first said as a word.
    if (text.length <= LARGE_RESULT_LENGTH || (await isAccepted(() => write(preliminary)))) this.facts.push(output)
    else {
      const errorText = 'the output is larger than the log takes'
      this.facts.push({
        type: 'tool-output-error',
        toolCallId,
        errorText,
        code: 'tool_output_too_large',
        executor: 'provider',
      })
    }
  }

  /** The answer is at its end: a call that was begun and not made is told to the model as what it is. */
  async close(): Promise<void> {
    for (const call of this.#calls.values()) if (!call.isMade) await this.#cutOff(call)
  }

  #cutOff(call: StreamedCall): Promise<void> {
    call.isMade = true
    if (call.executor !== 'provider') this.count++
    return this.#refuse(call, 'the input was cut off')
  }

  /** Calls are known by their ids in the whole session: one that was used before gets another. */
  #add(given: string, name: string, providerExecuted: boolean | undefined, isRaw: boolean): StreamedCall {
    const { step, reserve, longestId, rewinds } = this.#options
    const toolName = toolNameOf(name)
    const { executor } = this.#about(toolName, providerExecuted)
    // A client may still answer a call that was taken back: that must not be the id of another.
    const isMarked = executor === 'client' && (rewinds > 0 || REWIND_SUFFIX.test(given))
    const mark = isMarked ? `-r${rewinds}` : ''
    const base = given && given.length + mark.length <= longestId ? given : `call-${step}-${this.#ids.size + 1}`
    let id = `${base}${mark}`
    for (let n = 2; this.#ids.has(id) || !reserve(id); n++) id = `${base}-${n}${mark}`
    this.#ids.add(id)
    const rest = { metadata: undefined, isStarted: false, isMade: false, isRaw, hasInput: false }
    const call: StreamedCall = { id, toolName, executor, ...rest }
    this.#calls.set(given, call)
    return call
  }

  #about(toolName: string, providerExecuted = false): { executor: Executor; title?: string } {
    const tool = this.#options.tools.get(toolName)
    if (providerExecuted || tool?.executor === 'provider') return { executor: 'provider' }
    const executor = tool?.executor === 'client' ? 'client' : 'server'
    return { executor, ...(tool?.title !== undefined && { title: tool.title }) }
  }

  #sayStart(call: StreamedCall, more: object = {}): PromiseLike<void> {
    const { id, toolName, executor } = call
    call.isStarted = true
    const about = this.#about(toolName, executor === 'provider')
    return this.#options.write({ type: 'tool-input-start', toolCallId: id, toolName, ...about, ...more })
  }

  /** A call that cannot run; what had arrived of its input is kept, as far as the log takes it. */
  async #refuse(call: StreamedCall, why: string, partialInput?: Json): Promise<void> {
    const { write } = this.#options
    // It may hold what the model wrote.
    const errorText = excerpt(why)
    const { id: toolCallId, toolName } = call
    if (!call.isStarted) await this.#sayStart(call)
    const error = { type: 'tool-input-error', toolCallId, toolName, errorText } as const
    if (partialInput === undefined) return write(error)
    if (await isAccepted(() => write({ ...error, partialInput }))) return
    const text = typeof partialInput === 'string' ? partialInput : JSON.stringify(partialInput)
    return write({ ...error, partialInput: excerpt(text) })
  }
}

const toolNameOf = (toolName: string): string => excerpt(toolName, MAX_NAME_LENGTH)

/** A call without arguments may come with no text at all. */
function parseInput(text: string): { readonly value: Json } | { readonly problem: string } {
  if (text.trim() === '') return { value: {} }
  try {
    const value = JSON.parse(text) as Json
    return isTooDeep(value)
      ? { problem: `the input has more than ${MAX_JSON_DEPTH} levels: say it flatter` }
      : { value }
  } catch (error) {
    return { problem: `the input is no JSON: ${(error as Error).message}` }
  }
}

/** Whether a value is nested deeper than those can follow who have to: schemas, copies, the log. */
function isTooDeep(value: Json): boolean {
  let level = [value].filter(isContainer)
  for (let depth = 1; depth <= MAX_JSON_DEPTH && level.length > 0; depth++) {
    level = level.flatMap(item => Object.values(item).filter(isContainer))
  }
  return level.length > 0
}

const isContainer = (value: Json): value is Json[] | JsonObject => typeof value === 'object' && value !== null
