// Reads the stream parts of one answer. Ends the call of a provider that is silent for too long or that sends too much.

import type { LanguageModelV4StreamPart, LanguageModelV4StreamResult } from '@ai-sdk/provider'
import type { Timers } from '@millrace/log'
import { MAX_TIMER_MS } from '@millrace/log/internal'
import { unlessAborted } from '../async/unless-aborted.ts'
import { BudgetError, ProviderError } from '../error/error.ts'
import { jsonSizeAtLeast } from '../schema/json-size.ts'
import type { ModelLimits } from './model-limits.ts'

/** What each part counts in addition to its content, in bytes, so that empty parts cannot come without end. */
export const PART_BYTES = 64
/** Bytes of streamed text that count as one token. */
export const BYTES_PER_TOKEN = 4
/**
 * Maximum number of items in an answer. Each takes kilobytes of memory, however short it is: without this limit, an answer
 * of 32 MiB could have 100,000 of them.
 */
export const MAX_ANSWER_ITEMS = 10_000

/** Parts that add an item to an answer. Deltas and ends continue one. */
const ITEM_PARTS: ReadonlySet<unknown> = new Set<LanguageModelV4StreamPart['type']>([
  'custom',
  'file',
  'reasoning-file',
  'reasoning-start',
  'source',
  'text-start',
  'tool-approval-request',
  'tool-call',
  'tool-input-start',
  'tool-result',
])

/** What an answer may use, and the error of an answer that uses more. */
export interface Allowance {
  readonly bytes: { readonly left: number; error(): BudgetError }
  readonly tokens: { readonly left: number; error(): BudgetError }
}

/** The allowance of one answer by its own limits. */
export const allowanceOf = ({ answerBytes, answerTokens }: ModelLimits): Allowance => ({
  bytes: {
    left: answerBytes,
    error: () =>
      new BudgetError(
        'budget_answer',
        `the model’s answer exceeded ${answerBytes} bytes: raise modelLimits.answerBytes`,
      ),
  },
  tokens: {
    left: answerTokens,
    error: () =>
      new BudgetError(
        'budget_answer',
        `the model’s answer exceeded ${answerTokens} tokens, by an estimate: raise modelLimits.answerTokens`,
      ),
  },
})

export interface PartReaderSettings {
  readonly timers: Timers
  /** Aborts the call. */
  readonly signal: AbortSignal
  readonly limits: ModelLimits
  readonly allowance: Allowance
}

export class PartReader {
  readonly #settings: PartReaderSettings
  readonly #controller = new AbortController()
  readonly #onAbort = () => this.#end(this.#settings.signal.reason)
  #reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined
  /** Time that the provider may still be silent, in ms. */
  #silenceLeftMs: number
  #silenceError: () => ProviderError
  #cancelEnd: (() => void) | undefined
  #bytes = 0
  #textBytes = 0
  #items = 0

  constructor(settings: PartReaderSettings) {
    this.#settings = settings
    const { signal, limits } = settings
    this.#silenceLeftMs = limits.firstPartMs
    this.#silenceError = () => firstPartError(limits)
    signal.addEventListener('abort', this.#onAbort, { once: true })
    if (signal.aborted) this.#onAbort()
  }

  /** Aborted when the call ends before its answer is complete. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Estimated number of tokens in the text, reasoning and tool input so far. */
  get estimatedTokens(): number {
    return Math.ceil(this.#textBytes / BYTES_PER_TOKEN)
  }

  /** Starts the call. @throws the error of the provider, or why the call ended. */
  async open(call: () => PromiseLike<Pick<LanguageModelV4StreamResult, 'stream'>>): Promise<void> {
    const { signal } = this
    signal.throwIfAborted()
    const opening = (async () => (await call()).stream)()
    // A provider that ignores the abort may still answer.
    opening.then(
      stream => (signal.aborted ? stream.cancel(signal.reason).catch(() => {}) : undefined),
      () => {},
    )
    const stream = await this.#withTimeout(unlessAborted(opening, signal))
    this.#reader = stream.getReader()
  }

  /** The next part; undefined at the end of the stream. @throws the error of the stream, or why the call ended. */
  async next(): Promise<LanguageModelV4StreamPart | undefined> {
    const { signal } = this
    signal.throwIfAborted()
    const reader = this.#reader as ReadableStreamDefaultReader<LanguageModelV4StreamPart>
    let result: ReadableStreamReadResult<LanguageModelV4StreamPart>
    try {
      result = await this.#withTimeout(reader.read())
    } catch (error) {
      // The stream fails because of the abort.
      signal.throwIfAborted()
      throw error
    }
    signal.throwIfAborted()
    const { done, value } = result
    if (done) return undefined
    this.#count(value)
    // The provider’s package sends it before the first byte arrives.
    if (value?.type !== 'stream-start') {
      const { idleMs } = this.#settings.limits
      this.#silenceLeftMs = idleMs
      this.#silenceError = () => idleError(idleMs)
    }
    return value
  }

  /** Ends the stream after a time in ms, as if the provider had. */
  endAfter(ms: number): void {
    this.#cancelEnd ??= this.#settings.timers.after(ms, () => void this.#reader?.cancel().catch(() => {}))
  }

  /** Ends the call, if the answer is not complete, and stops the timers. */
  close(isComplete: boolean): void {
    this.#cancelEnd?.()
    this.#settings.signal.removeEventListener('abort', this.#onAbort)
    if (!isComplete) this.#end(new DOMException('the answer is no longer needed', 'AbortError'))
  }

  #end(reason: unknown): void {
    // Before the abort, so that a waiting read ends even if the provider ignores the signal.
    this.#reader?.cancel(reason).catch(() => {})
    this.#controller.abort(reason)
  }

  /** Waits for the provider. Only this time counts as its silence, not that of the log. */
  async #withTimeout<T>(pending: Promise<T>): Promise<T> {
    const { timers } = this.#settings
    // A single process does not run that long.
    if (this.#silenceLeftMs > MAX_TIMER_MS) return pending
    const startedAt = timers.now()
    // The connection keeps the process alive, not this timer.
    const cancel = timers.after(Math.max(0, this.#silenceLeftMs), () => this.#end(this.#silenceError()), true)
    try {
      return await pending
    } finally {
      cancel()
      this.#silenceLeftMs -= timers.now() - startedAt
    }
  }

  /** @throws {BudgetError} if the part exceeds the allowance or the number of items. */
  #count(part: LanguageModelV4StreamPart): void {
    const { bytes, tokens } = this.#settings.allowance
    this.#bytes += sizeOf(part, bytes.left - this.#bytes)
    if (this.#bytes > bytes.left) throw bytes.error()
    const { type, delta } = (part ?? {}) as { readonly type?: unknown; readonly delta?: unknown }
    if (ITEM_PARTS.has(type) && ++this.#items > MAX_ANSWER_ITEMS) throw tooManyItems()
    if (typeof delta !== 'string' || typeof type !== 'string' || !type.endsWith('-delta')) return
    this.#textBytes += Buffer.byteLength(delta)
    if (this.estimatedTokens > tokens.left) throw tokens.error()
  }
}

/** The size of a part, in bytes. Stops counting above `max`. */
function sizeOf(part: LanguageModelV4StreamPart, max: number): number {
  const isFile = part?.type === 'file' || part?.type === 'reasoning-file'
  if (isFile && part.data?.type === 'data' && typeof part.data.data !== 'string') {
    return PART_BYTES + Math.ceil((part.data.data.byteLength * 4) / 3)
  }
  return PART_BYTES + jsonSizeAtLeast(part, max)
}

const tooManyItems = (): BudgetError =>
  new BudgetError(
    'budget_answer',
    `the model’s answer exceeded ${MAX_ANSWER_ITEMS} texts, calls, results and other items: ask for less at a time`,
  )

const firstPartError = ({ firstPartMs }: ModelLimits): ProviderError =>
  new ProviderError(
    'provider_timeout',
    `the provider did not begin its answer within ${firstPartMs} ms: try again later, or raise modelLimits.firstPartMs`,
    { retryable: true },
  )

const idleError = (idleMs: number): ProviderError =>
  new ProviderError(
    'provider_timeout',
    `the provider sent nothing for ${idleMs} ms in the middle of its answer: try again later, or raise modelLimits.idleMs`,
    { retryable: true },
  )
