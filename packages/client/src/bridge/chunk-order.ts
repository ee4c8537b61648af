import { ProtocolError } from '@millrace/protocol'
import type { ChatMessageChunk, ChatStreamEnvelope } from './types.ts'

/** How many chunks may come ahead of one that is missing. */
const AHEAD = 1024
/** How many chunks are held at most until it is known where a stream begins. */
const BEFORE_BASE = 16
/** How many of the latest events are known again at least; at most twice as many. */
const EVENTS = 10_000

/** A chunk on its way through, and what comes right after it though nothing said where it belongs. */
interface HeldChunk {
  readonly eventId: string | undefined
  readonly sequence: number | undefined
  readonly chunk: ChatMessageChunk
  followers?: HeldChunk[]
}

/** What a raw chunk says of its place. */
const NO_PLACE: { readonly eventId?: unknown; readonly sequence?: unknown } = {}

const isTerminal = ({ type }: ChatMessageChunk): boolean => type === 'finish' || type === 'abort'

const describeValue = (value: unknown): string => {
  if (value === null || value === undefined) return String(value)
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return 'bytes (fetchServerSentEvents reads them)'
  return typeof value === 'object' ? `an object with the keys ${Object.keys(value).join(', ') || 'none'}` : typeof value
}

/**
 * Raw chunks and envelopes of one reply, put in order, each once, over as many streams as it takes. What waits for one that is missing is
 * bounded, and so is what is remembered (law 8). Nothing comes after `finish` or `abort`.
 */
export class ChunkOrder {
  /** `finish` or `abort` came. */
  isEnded = false
  /** The sequence that comes next; none, until it is known where the stream begins. */
  #next: number | undefined
  readonly #held = new Map<number, HeldChunk>()
  #highest = -Infinity
  /** Of events that were given out, and of no others: what was only held when a stream broke off is to come again. */
  #seen = new Set<string>()
  #seenBefore = new Set<string>()
  #count = 0

  /** The sequence that comes next, as soon as it is known. */
  get next(): number | undefined {
    return this.#next
  }

  /** Whether it waits to see where the stream begins. */
  get isHolding(): boolean {
    return this.#next === undefined && this.#held.size > 0
  }

  /** Whether something is missing before what came. */
  get hasGap(): boolean {
    return this.#held.size > 0
  }

  /** Takes what came, and gives what is next, in order; throws a `ProtocolError` for what is no chunk. */
  push(value: unknown): ChatMessageChunk[] {
    if (this.isEnded) return []
    this.#count++
    const held = this.#read(value)
    const { sequence } = held
    if (sequence === undefined) {
      // What is before it in the stream stays before it.
      if (this.#held.size === 0) return this.#give(held)
      const last = this.#held.get(this.#highest) as HeldChunk
      last.followers ??= []
      this.#bound(last.followers.push(held))
      return []
    }
    if (this.#next !== undefined && sequence < this.#next) return []
    // The way of most: nothing is held, and it is the next.
    if (sequence === this.#next && this.#held.size === 0) {
      this.#next++
      return this.#give(held)
    }
    if (!this.#held.has(sequence)) this.#held.set(sequence, held)
    if (sequence > this.#highest) this.#highest = sequence
    // Nothing is before `start`, nor before the first number.
    if (this.#next === undefined && (held.chunk.type === 'start' || sequence === 0)) return this.#begin(sequence)
    if (this.#next === undefined) return this.#held.size >= BEFORE_BASE ? this.release() : []
    this.#bound(this.#held.size)
    return this.#drain()
  }

  /** Waits no longer to see where the stream begins: with the lowest that came. */
  release(): ChatMessageChunk[] {
    return this.isHolding ? this.#begin(Math.min(...this.#held.keys())) : []
  }

  /** The stream is over: what still waits for something is forgotten, as if it had never come. */
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
      chunks.push(...this.#give(held))
      for (const follower of held.followers ?? []) chunks.push(...this.#give(follower))
    }
    return chunks
  }

  /** The chunk, unless it was given out before. */
  #give({ eventId, chunk }: HeldChunk): ChatMessageChunk[] {
    if (this.isEnded || this.#isSeen(eventId)) return []
    if (eventId !== undefined) this.#see(eventId)
    if (isTerminal(chunk)) {
      this.isEnded = true
      this.#held.clear()
    }
    return [chunk]
  }

  #isSeen(eventId: string | undefined): boolean {
    return eventId !== undefined && (this.#seen.has(eventId) || this.#seenBefore.has(eventId))
  }

  #see(eventId: string): void {
    this.#seen.add(eventId)
    if (this.#seen.size < EVENTS) return
    // By halves: to forget the oldest of a set one by one is to look through all that were forgotten.
    this.#seenBefore = this.#seen
    this.#seen = new Set()
  }

  #bound(size: number): void {
    if (size > AHEAD) this.#refuse(`expected sequence ${this.#next}, found ${AHEAD} others`, 'too-large')
  }

  #read(value: unknown): HeldChunk {
    if (typeof value !== 'object' || value === null)
      this.#refuse(`expected a chunk or an envelope, found ${describeValue(value)}`)
    const isRaw = !Object.hasOwn(value, 'chunk')
    const chunk = isRaw ? value : (value as ChatStreamEnvelope).chunk
    if (typeof (chunk as { type?: unknown } | null)?.type !== 'string')
      this.#refuse(`expected a chunk with a type, found ${describeValue(chunk)}`)
    const { eventId, sequence } = isRaw ? NO_PLACE : (value as { eventId?: unknown; sequence?: unknown })
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
    throw new ProtocolError(code, `chunk ${this.#count} of the stream: ${problem}`)
  }
}
