import { ProtocolError } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import type { ChatMessageChunk } from './types.ts'

/** Maximum number of chunks that wait for a missing one. */
const MAX_AHEAD = 1024
/** Maximum number of chunks that wait until the first sequence of a stream is known. */
const MAX_BEFORE_FIRST = 16
/** Minimum number of recent event ids that are remembered. The maximum is twice this number. */
const REMEMBERED_EVENTS = 10_000

/** A received chunk, with the chunks without a sequence that follow it. */
interface HeldChunk {
  readonly eventId: string | undefined
  readonly sequence: number | undefined
  readonly chunk: ChatMessageChunk
  followers?: HeldChunk[]
}

const isTerminal = ({ type }: ChatMessageChunk): boolean => type === 'finish' || type === 'abort'

const describeValue = (value: unknown): string => {
  if (value === null || value === undefined) return String(value)
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return 'bytes (fetchServerSentEvents reads them)'
  return typeof value === 'object' ? `an object with the keys ${Object.keys(value).join(', ') || 'none'}` : typeof value
}

/**
 * Orders the raw chunks and envelopes of one reply and removes duplicates, also if the reply is read over several streams. Its memory is bounded (law 8).
 * Ignores everything after `finish` or `abort`.
 */
export class ChunkOrder {
  /** Whether `finish` or `abort` was returned. */
  isEnded = false
  /** The next sequence. Undefined until the first one is known. */
  #next: number | undefined
  readonly #held = new Map<number, HeldChunk>()
  #highest = -Infinity
  /** Ids of events that were returned. An event that was held when its stream dropped is not in it: the next stream sends it again. */
  #seen = new Set<string>()
  #previousSeen = new Set<string>()
  #receivedCount = 0

  get next(): number | undefined {
    return this.#next
  }

  /** Whether chunks wait for the first sequence to be known. */
  get isHolding(): boolean {
    return this.#next === undefined && this.#held.size > 0
  }

  /** Whether chunks wait for a missing one. */
  get hasGap(): boolean {
    return this.#held.size > 0
  }

  /**
   * Adds a value of the stream. Returns the chunks that can be emitted now, in order.
   * @throws a `ProtocolError` if the value is neither a chunk nor an envelope.
   */
  push(value: unknown): ChatMessageChunk[] {
    if (this.isEnded) return []
    this.#receivedCount++
    const held = this.#read(value)
    const { sequence } = held
    if (sequence === undefined) {
      // A chunk without a sequence follows the chunk received before it.
      if (this.#held.size === 0) return this.#emit(held)
      const last = this.#held.get(this.#highest) as HeldChunk
      last.followers ??= []
      this.#checkBound(last.followers.push(held))
      return []
    }
    if (this.#next !== undefined && sequence < this.#next) return []
    // The usual case: nothing is held, and this is the next.
    if (sequence === this.#next && this.#held.size === 0) {
      this.#next++
      return this.#emit(held)
    }
    if (!this.#held.has(sequence)) this.#held.set(sequence, held)
    if (sequence > this.#highest) this.#highest = sequence
    // No chunk precedes `start` or sequence 0.
    if (this.#next === undefined && (held.chunk.type === 'start' || sequence === 0)) return this.#begin(sequence)
    if (this.#next === undefined) return this.#held.size >= MAX_BEFORE_FIRST ? this.release() : []
    this.#checkBound(this.#held.size)
    return this.#drain()
  }

  /** Stops waiting for the first sequence: starts with the lowest one received. Returns the chunks that can be emitted now. */
  release(): ChatMessageChunk[] {
    return this.isHolding ? this.#begin(Math.min(...this.#held.keys())) : []
  }

  /** Ends a stream: forgets the chunks that still wait. */
  close(): void {
    this.#held.clear()
    this.#highest = -Infinity
  }

  #begin(next: number): ChatMessageChunk[] {
    this.#next = next
    for (const sequence of [...this.#held.keys()]) if (sequence < next) this.#held.delete(sequence)
    return this.#drain()
  }

  #drain(): ChatMessageChunk[] {
    const chunks: ChatMessageChunk[] = []
    for (;;) {
      const held = this.#held.get(this.#next as number)
      if (held === undefined) break
      this.#held.delete(this.#next as number)
      ;(this.#next as number)++
      chunks.push(...this.#emit(held))
      for (const follower of held.followers ?? []) chunks.push(...this.#emit(follower))
    }
    return chunks
  }

  /** The chunk, unless it was returned before. */
  #emit({ eventId, chunk }: HeldChunk): ChatMessageChunk[] {
    if (this.isEnded || this.#isSeen(eventId)) return []
    if (eventId !== undefined) this.#remember(eventId)
    if (isTerminal(chunk)) {
      this.isEnded = true
      this.#held.clear()
    }
    return [chunk]
  }

  #isSeen(eventId: string | undefined): boolean {
    return eventId !== undefined && (this.#seen.has(eventId) || this.#previousSeen.has(eventId))
  }

  #remember(eventId: string): void {
    this.#seen.add(eventId)
    if (this.#seen.size < REMEMBERED_EVENTS) return
    // Forgets the older half at once: deleting the oldest entries of a set one by one is slow.
    this.#previousSeen = this.#seen
    this.#seen = new Set()
  }

  #checkBound(size: number): void {
    if (size > MAX_AHEAD) this.#refuse(`expected sequence ${this.#next}, found ${MAX_AHEAD} others`, 'too-large')
  }

  #read(value: unknown): HeldChunk {
    if (!isObject(value)) this.#refuse(`expected a chunk or an envelope, found ${describeValue(value)}`)
    const isRaw = !Object.hasOwn(value, 'chunk')
    const chunk: unknown = isRaw ? value : value['chunk']
    if (typeof (chunk as { type?: unknown } | null)?.type !== 'string')
      this.#refuse(`expected a chunk with a type, found ${describeValue(chunk)}`)
    const { eventId, sequence } = (isRaw ? {} : value) as { readonly eventId?: unknown; readonly sequence?: unknown }
    if (eventId != null && typeof eventId !== 'string')
      this.#refuse(`expected a string as eventId, found ${describeValue(eventId)}`)
    if (sequence != null && !Number.isSafeInteger(sequence))
      this.#refuse(
        `expected a whole number as sequence, found ${typeof sequence === 'string' ? JSON.stringify(sequence) : String(sequence)}`,
      )
    return {
      eventId: (eventId as string | null | undefined) ?? undefined,
      sequence: (sequence as number | null | undefined) ?? undefined,
      chunk: chunk as ChatMessageChunk,
    }
  }

  #refuse(problem: string, code: 'invalid-chunk' | 'too-large' = 'invalid-chunk'): never {
    throw new ProtocolError(code, `chunk ${this.#receivedCount} of the stream: ${problem}`)
  }
}
