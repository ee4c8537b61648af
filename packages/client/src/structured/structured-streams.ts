import {
  StructuredAccumulator,
  type StructuredDataChunk,
  type StructuredDataInvalidatedChunk,
  type StructuredState,
} from '@millrace/protocol'
import { FLUSH_MS, FlushScheduler } from '../notify/flush-scheduler.ts'
import { Listeners } from '../notify/listeners.ts'

/** A chunk about a structured object. */
export type StructuredChunk = StructuredDataChunk | StructuredDataInvalidatedChunk

/** Structured objects, in the order in which they began. */
export interface StructuredItems {
  /** All objects. */
  readonly items: readonly StructuredState[]
  /** The same objects by their `streamId`. */
  readonly byStreamId: { readonly [streamId: string]: StructuredState }
}

const isChunk = (value: unknown): value is StructuredChunk => {
  const type = (value as { type?: unknown } | null)?.type
  return type === 'structured-data' || type === 'structured-data-invalidated'
}

/** Builds structured objects from the chunks of any stream, without a chat. */
export class StructuredStreams {
  readonly #objects = new Map<string, StructuredAccumulator>()
  readonly #listeners = new Listeners()
  readonly #scheduler: FlushScheduler
  #value = itemsOf([])

  constructor(flushIntervalMs = FLUSH_MS) {
    this.#scheduler = new FlushScheduler(flushIntervalMs, () => this.#notify())
  }

  /** All objects. The same value until the next notification. */
  get value(): StructuredItems {
    return this.#value
  }

  /** Returns an object by its id. */
  get(streamId: string): StructuredState | undefined {
    return this.#objects.get(streamId)?.read()
  }

  /**
   * Applies a chunk. Ignores chunks that are not about structured objects.
   * @throws a `ProtocolError` for a chunk that does not fit its object.
   */
  readonly apply = (chunk: unknown): void => {
    if (!isChunk(chunk)) return
    const { streamId } = chunk
    const object = this.#objects.get(streamId) ?? new StructuredAccumulator()
    if (chunk.type === 'structured-data') {
      object.write(chunk)
      object.commit()
      this.#objects.set(streamId, object)
    } else this.#objects.delete(streamId)
    this.#scheduler.schedule()
  }

  /** Applies all chunks of a stream, bare or in entries and envelopes, until it ends or `signal` aborts. A finished object starts over. */
  readonly consume = async (stream: AsyncIterable<unknown>, signal?: AbortSignal): Promise<void> => {
    const iterator = stream[Symbol.asyncIterator]()
    const aborted = new Promise<undefined>(resolve => signal?.addEventListener('abort', () => resolve(undefined)))
    const started = new Set<string>()
    try {
      while (!signal?.aborted) {
        const next = await Promise.race([iterator.next(), aborted])
        if (next === undefined || next.done) break
        const chunk = (next.value as { chunk?: unknown } | null)?.chunk ?? next.value
        const { streamId } = (isChunk(chunk) ? chunk : {}) as { streamId: string }
        if (!started.has(streamId) && this.get(streamId)?.status === 'done') this.#objects.delete(streamId)
        started.add(streamId)
        this.apply(chunk)
      }
    } finally {
      // Not awaited: it may hang.
      iterator.return?.().catch(() => {})
      this.#scheduler.flush()
    }
  }

  /** Removes all objects. */
  readonly clear = (): void => {
    this.#objects.clear()
    this.#scheduler.flush()
  }

  /** Calls the listener after each change of `value`. Returns a function that ends the subscription. */
  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add('any', undefined, listener)

  #notify(): void {
    const items = [...this.#objects.values()].flatMap(object => object.read() ?? [])
    this.#value = itemsOf(items)
    this.#listeners.notify('any')
  }
}

/** Objects as a list and by id. Without a prototype, so that an id such as `constructor` finds nothing. */
export const itemsOf = (items: readonly StructuredState[]): StructuredItems => {
  const byStreamId: { [streamId: string]: StructuredState } = Object.create(null)
  for (const item of items) byStreamId[item.streamId] = item
  return { items, byStreamId }
}
