import type { Chunk, Json } from '@millrace/protocol'
import type { StreamContext } from './chunk.ts'

/** A call, as a client has it. */
export interface AiSdkCall {
  readonly name: string
  readonly isDynamic: boolean
  isProvider: boolean
  isClient: boolean
  /** The step of the message that it stands in. */
  readonly step: number
  /** Whether its input has been streamed. */
  isStreamed: boolean
  state: 'streaming' | 'ready' | 'settled' | 'denied'
}

/** The calls of a message. Clients fail at a chunk about a call that they do not know, and take back an outcome that is followed by less. */
export class AiSdkToolCalls implements StreamContext {
  readonly #calls = new Map<string, AiSdkCall>()
  readonly approvals = new Map<string, string>()
  readonly inputs = new Map<string, Json>()
  /** The approvals that nobody has answered. */
  readonly #unanswered = new Set<string>()

  get(toolCallId: string): AiSdkCall | undefined {
    return this.#calls.get(toolCallId)
  }

  /** Takes in what a chunk says of a call; false where clients cannot take it. */
  take(chunk: Chunk, step: number): boolean {
    switch (chunk.type) {
      case 'tool-input-start':
      case 'tool-input-available':
      case 'tool-input-error':
        return this.#open(chunk, step)
      case 'tool-input-delta': {
        const call = this.#calls.get(chunk.toolCallId)
        return call?.state === 'streaming' && call.isStreamed
      }
      case 'tool-approval-request':
        if (!this.#isOpen(chunk.toolCallId)) return false
        this.approvals.set(chunk.approvalId, chunk.toolCallId)
        this.#unanswered.add(chunk.approvalId)
        return true
      case 'tool-approval-response':
        if (!this.#isOpen(this.approvals.get(chunk.approvalId))) return false
        this.#unanswered.delete(chunk.approvalId)
        return true
      case 'tool-output-available':
        if (chunk.preliminary) return this.#isOpen(chunk.toolCallId)
        return this.#settle(chunk.toolCallId, 'settled')
      case 'tool-output-error':
        return this.#settle(chunk.toolCallId, 'settled')
      case 'tool-output-denied':
        return this.#settle(chunk.toolCallId, 'denied')
      default:
        return true
    }
  }

  /** The calls that have no outcome. */
  *open(): Generator<string> {
    for (const [id, { state }] of this.#calls) if (state === 'streaming' || state === 'ready') yield id
  }

  /** Whether the calls of a step look to clients as if their results were theirs to send: all have one, and nobody denied any. */
  areComplete(step: number): boolean {
    const calls = [...this.#calls.values()].filter(call => call.step === step && !call.isProvider)
    return calls.length > 0 && calls.every(({ state }) => state === 'settled')
  }

  /** The approval of a call that nobody has answered. */
  unansweredOf(toolCallId: string): string | undefined {
    for (const approvalId of this.#unanswered) if (this.approvals.get(approvalId) === toolCallId) return approvalId
    return undefined
  }

  /** A call was taken back. */
  forget(toolCallId: string): void {
    this.#calls.delete(toolCallId)
  }

  #isOpen(toolCallId: string | undefined): boolean {
    const state = this.#calls.get(toolCallId ?? '')?.state
    return state === 'streaming' || state === 'ready'
  }

  #settle(toolCallId: string, state: 'settled' | 'denied'): boolean {
    if (!this.#isOpen(toolCallId)) return false
    ;(this.#calls.get(toolCallId) as AiSdkCall).state = state
    return true
  }

  #open(
    chunk: Extract<Chunk, { type: 'tool-input-start' | 'tool-input-available' | 'tool-input-error' }>,
    step: number,
  ): boolean {
    const { type, toolCallId } = chunk
    const known = this.#calls.get(toolCallId)
    if (known && (known.state !== 'streaming' || type === 'tool-input-start')) return false
    const state = type === 'tool-input-start' ? 'streaming' : type === 'tool-input-error' ? 'settled' : 'ready'
    if (type === 'tool-input-available') this.inputs.set(toolCallId, chunk.input)
    const { executor, dynamic = false } = chunk as Extract<Chunk, { type: 'tool-input-start' }>
    if (known) {
      known.state = state
      known.isProvider ||= executor === 'provider'
      known.isClient ||= executor === 'client'
    } else {
      this.#calls.set(toolCallId, {
        name: chunk.toolName ?? '',
        isDynamic: dynamic,
        isProvider: executor === 'provider',
        isClient: executor === 'client',
        step,
        isStreamed: type === 'tool-input-start',
        state,
      })
    }
    return true
  }
}
