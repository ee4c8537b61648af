import {
  StructuredAccumulator,
  type StructuredDataChunk,
  type StructuredDataInvalidatedChunk,
  type StructuredState,
} from '@millrace/protocol'
import { FLUSH_MS, Flush } from '../store/flush.ts'

/** A chunk about a structured object. */
export type StructuredChunk = StructuredDataChunk | StructuredDataInvalidatedChunk

/** Structured objects, in the order in which they began. */
export interface StructuredItems {
  readonly items: readonly StructuredState[]
  readonly byStreamId: { readonly [streamId: string]: StructuredState }
}

const NONE: StructuredItems = { items: [], byStreamId: {} }

const isChunk = (value: unknown): value is StructuredChunk => {
  const type = (value as { type?: unknown } | null)?.type
  return type === 'structured-data' || type === 'structured-data-invalidated'
}

/** Builds structured objects from the chunks of any stream, without a chat. */
export class StructuredStreams {
  readonly #objects = new Map<string, StructuredAccumulator>()
  readonly #listeners = new Set<() => void>()
  readonly #flush: Flush
  #shown = NONE

  constructor(flushInterval = FLUSH_MS) {
    this.#flush = new Flush(flushInterval, () => this.#tell())
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

  /** Takes all chunks of a stream, bare or in entries and envelopes. */
  readonly consume = async (stream: AsyncIterable<unknown>): Promise<void> => {
    for await (const item of stream) this.apply((item as { chunk?: unknown } | null)?.chunk ?? item)
    this.#flush.now()
  }

  /** Forgets everything. */
  readonly clear = (): void => {
    this.#objects.clear()
    this.#flush.now()
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    const own = () => listener()
    this.#listeners.add(own)
    return () => this.#listeners.delete(own)
  }

  #tell(): void {
    const items = [...this.#objects.values()].flatMap(object => object.read() ?? [])
    this.#shown = itemsOf(items)
    for (const listener of [...this.#listeners]) listener()
  }
}

/** Objects as a list and by their ids. */
export const itemsOf = (items: readonly StructuredState[]): StructuredItems => ({
  items,
  byStreamId: Object.fromEntries(items.map(item => [item.streamId, item])),
})
