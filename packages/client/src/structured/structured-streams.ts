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
  readonly items: readonly StructuredState[]
  readonly byStreamId: { readonly [streamId: string]: StructuredState }
}

const isChunk = (value: unknown): value is StructuredChunk => {
  const type = (value as { type?: unknown } | null)?.type
  return type === 'structured-data' || type === 'structured-data-invalidated'
}

/** Builds structured objects from the chunks of any stream, without a chat. */
export class StructuredStreams {
  readonly #objects = new Map<string, StructuredAccumulator>()
  readonly #topics = new Listeners()
  readonly #flush: FlushScheduler
  #shown = itemsOf([])

  constructor(flushInterval = FLUSH_MS) {
    this.#flush = new FlushScheduler(flushInterval, () => this.#tell())
  }

  /** What there is; the same object until who listens is told of a change. */
  get value(): StructuredItems {
    return this.#shown
  }

  get(streamId: string): StructuredState | undefined {
    return this.#objects.get(streamId)?.read()
  }

  /** Takes a chunk; others than those about structured objects are let be. Throws a `ProtocolError` for one that does not fit. */
  readonly apply = (chunk: unknown): void => {
    if (!isChunk(chunk)) return
    const { streamId } = chunk
    const object = this.#objects.get(streamId) ?? new StructuredAccumulator()
    if (chunk.type === 'structured-data') {
      object.write(chunk)
      object.commit()
      this.#objects.set(streamId, object)
    } else this.#objects.delete(streamId)
    this.#flush.note()
  }

  /** Takes all chunks of a stream, bare or in entries and envelopes, until it ends or is to be left. An object that was done begins anew. */
  readonly consume = async (stream: AsyncIterable<unknown>, signal?: AbortSignal): Promise<void> => {
    const iterator = stream[Symbol.asyncIterator]()
    const left = new Promise<undefined>(resolve => signal?.addEventListener('abort', () => resolve(undefined)))
    const begun = new Set<string>()
    try {
      while (!signal?.aborted) {
        const next = await Promise.race([iterator.next(), left])
        if (next === undefined || next.done) break
        const chunk = (next.value as { chunk?: unknown } | null)?.chunk ?? next.value
        const { streamId } = (isChunk(chunk) ? chunk : {}) as { streamId: string }
        if (!begun.has(streamId) && this.get(streamId)?.status === 'done') this.#objects.delete(streamId)
        begun.add(streamId)
        this.apply(chunk)
      }
    } finally {
      // One that hangs is not waited for.
      iterator.return?.().catch(() => {})
      this.#flush.now()
    }
  }

  /** Forgets everything. */
  readonly clear = (): void => {
    this.#objects.clear()
    this.#flush.now()
  }

  readonly subscribe = (listener: () => void): (() => void) => this.#topics.add('any', undefined, listener)

  #tell(): void {
    const items = [...this.#objects.values()].flatMap(object => object.read() ?? [])
    this.#shown = itemsOf(items)
    this.#topics.tell('any')
  }
}

/** Objects as a list and by their ids, which may be any words: what has none of them inherits nothing. */
export const itemsOf = (items: readonly StructuredState[]): StructuredItems => {
  const byStreamId: { [streamId: string]: StructuredState } = Object.create(null)
  for (const item of items) byStreamId[item.streamId] = item
  return { items, byStreamId }
}
