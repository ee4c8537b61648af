import { type Chunk, type Json, type Origin, ProtocolError } from '@millrace/protocol'
import type { DecodedChunk } from '../dialect/dialect.ts'
import { RunDecoder } from '../dialect/run-decoder.ts'
import { applySupplement } from '../dialect/supplement.ts'
import { expectObject, expectOrigin, expectString, validated } from '../dialect/validate.ts'
import { ChunkReader, EXTENSION } from './events/chunk-reader.ts'
import type { MillraceStreamChunk, TanstackChunk, TanstackStreamChunk } from './types.ts'

const NONE: readonly DecodedChunk[] = []

/** Decodes a stream of TanStack AI, from Millrace or from another server. */
export class TanstackDecoder extends RunDecoder<TanstackChunk> {
  readonly #reader = new ChunkReader()
  /** Whether the stream is from Millrace. It has the status of its run then. */
  #isMillrace = false
  /** Inputs of calls that are not complete. */
  readonly #inputs = new Map<string, { readonly toolName: string; text: string }>()
  /** Text and thinking so far, for servers that send no deltas. */
  #content = ''
  #thinking = ''

  protected override decodeNext(event: TanstackChunk): readonly DecodedChunk[] {
    if (typeof event?.type !== 'string')
      throw new ProtocolError('invalid-chunk', 'chunk: expected an object with a type')
    const guest = expectOrigin(event.millraceOrigin)
    if (event.type === EXTENSION) return this.#extension(event, guest)
    checkEvent(event)
    if (event.millrace !== undefined) this.#isMillrace = true
    const withDelta = this.#withDelta(event)
    const chunk = applySupplement(this.#reader.chunkOf(withDelta), event.millrace)
    const before = event.millrace === undefined ? this.#chunksBefore(event) : NONE
    this.#reader.follow(event, chunk)
    this.#trackState(event, chunk)
    const after = event.millrace === undefined ? this.#chunksAfter(event, chunk) : NONE
    const decodedChunks = chunk ? [guest ? { chunk, origin: guest } : { chunk }] : NONE
    return before === NONE && after === NONE ? decodedChunks : [...before, ...decodedChunks, ...after]
  }

  #extension(event: MillraceStreamChunk, guest: Origin | undefined): readonly DecodedChunk[] {
    const { chunk } = event
    if (typeof chunk?.type !== 'string')
      throw new ProtocolError('invalid-chunk', `chunk ${EXTENSION}: expected { chunk }`)
    validated(chunk)
    const origin = expectOrigin(event.origin)
    this.#isMillrace = true
    this.#reader.follow(event, origin ? undefined : chunk)
    if (origin) return [{ chunk, origin }]
    if (chunk.type === 'tool-input-available' || chunk.type === 'tool-input-error')
      this.#inputs.delete(chunk.toolCallId)
    if (chunk.type === 'run-finished') this.end(chunk.status)
    else if (chunk.type === 'run-paused') this.endStatus = 'paused'
    else if (chunk.type === 'run-resumed' || chunk.type === 'run-started') this.endStatus = undefined
    return [guest ? { chunk, origin: guest } : { chunk }]
  }

  /** Adds the delta to an event, computed from its content if missing. */
  #withDelta(event: TanstackStreamChunk): TanstackStreamChunk {
    switch (event.type) {
      case 'content': {
        const delta = event.delta ?? addedText(this.#content, event.content)
        this.#content += delta
        return event.delta === undefined ? { ...event, delta } : event
      }
      case 'thinking': {
        const delta = event.delta ?? addedText(this.#thinking, event.content)
        this.#thinking += delta
        return event.delta === undefined ? { ...event, delta } : event
      }
      case 'tool_call':
      case 'done':
        this.#content = ''
        return event
      default:
        return event
    }
  }

  /** Implicit chunks before an event: inputs are complete at the end of their turn. */
  #chunksBefore({ type }: TanstackStreamChunk): readonly DecodedChunk[] {
    if (type !== 'done' || this.#inputs.size === 0) return NONE
    const decodedChunks: DecodedChunk[] = []
    for (const [toolCallId, { toolName, text }] of this.#inputs)
      decodedChunks.push({ chunk: inputOf(toolCallId, toolName, text) })
    this.#inputs.clear()
    return decodedChunks
  }

  /** Implicit chunks after an event: the first event of a call can have a part of its input. */
  #chunksAfter(event: TanstackStreamChunk, chunk: Chunk | undefined): readonly DecodedChunk[] {
    if (event.type !== 'tool_call' || chunk?.type !== 'tool-input-start') return NONE
    const { id: toolCallId, function: called } = event.toolCall
    const delta = called.arguments
    return delta ? [{ chunk: { type: 'tool-input-delta', toolCallId, delta } }] : NONE
  }

  #trackState(event: TanstackStreamChunk, chunk: Chunk | undefined): void {
    if (event.type === 'tool_call') {
      const { id, function: called } = event.toolCall
      const input = this.#inputs.get(id)
      if (chunk?.type === 'tool-input-available') this.#inputs.delete(id)
      else if (input) input.text += called.arguments
      else if (chunk?.type === 'tool-input-start')
        this.#inputs.set(id, { toolName: called.name, text: called.arguments })
    }
    if (this.#isMillrace) return
    switch (event.type) {
      case 'error':
        this.end('failed')
        break
      case 'done':
        // A turn that ends with calls continues or waits. Without a request, a stream that ends here was dropped.
        this.endStatus = event.finishReason === 'tool_calls' ? undefined : 'completed'
        break
      case 'approval-requested':
      case 'tool-input-available':
        this.endStatus = 'paused'
        break
      default:
        this.endStatus = undefined
    }
  }
}

/** Validates the fields that decoding reads. */
function checkEvent(event: TanstackStreamChunk): void {
  switch (event.type) {
    case 'content':
    case 'thinking':
      expectString(event.id, 'chunk.id')
      expectString(event.delta ?? event.content, 'chunk.content')
      break
    case 'tool_call': {
      const { id, function: called } = expectObject(event.toolCall, 'chunk tool_call.toolCall')
      const { name, arguments: more } = expectObject(called, 'chunk tool_call.toolCall.function')
      expectString(id, 'chunk tool_call.toolCall.id')
      expectString(name, 'chunk tool_call.toolCall.function.name')
      expectString(more, 'chunk tool_call.toolCall.function.arguments')
      break
    }
    case 'error':
      expectObject(event.error, 'chunk error.error')
      break
    case 'approval-requested':
      expectObject(event.approval, 'chunk approval-requested.approval')
      break
    default:
  }
}

const addedText = (before: string, now: string): string => (now.startsWith(before) ? now.slice(before.length) : now)

function inputOf(toolCallId: string, toolName: string, text: string): Chunk {
  try {
    const input = (text.trim() === '' ? {} : JSON.parse(text)) as Json
    return { type: 'tool-input-available', toolCallId, toolName, input }
  } catch {
    const errorText = 'The input is not JSON.'
    return { type: 'tool-input-error', toolCallId, toolName, errorText, partialInput: text }
  }
}
