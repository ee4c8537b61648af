// What waits for people while a run is said, whoever in it asks, and the calls that nothing came of yet.

import type { Chunk, ChunkOf, Origin } from '@millrace/protocol'
import { isToolResult } from '../dialect/tool-result.ts'
import type { KortyxPending } from './interrupt.ts'

interface KortyxCall {
  readonly toolName: string
  readonly input: ChunkOf<'tool-input-available'>['input']
  readonly isClient: boolean
}

/** Where all that waits is kept in view. */
export class PendingRequests {
  readonly #calls = new Map<string, KortyxCall>()
  /** By the call or the question. */
  readonly #waiting = new Map<string, KortyxPending>()

  /** All that waits for a person, in the order in which it was asked for. */
  waiting(): Iterable<KortyxPending> {
    return this.#waiting.values()
  }

  /** Sees what waits for a person, whoever asks. */
  follow(chunk: Chunk, origin: Origin | undefined): void {
    switch (chunk.type) {
      case 'tool-input-available': {
        const { toolCallId, toolName, input, executor } = chunk
        const call = { toolName, input, isClient: executor === 'client' }
        this.#calls.set(toolCallId, call)
        if (call.isClient) this.#waitForClient(toolCallId, call, askerIn(origin))
        break
      }
      case 'tool-approval-request': {
        const { toolCallId, approvalId: id, input, toolName = this.#calls.get(toolCallId)?.toolName ?? '' } = chunk
        this.#waiting.set(toolCallId, { kind: 'approval', id, toolCallId, toolName, input, ...askerIn(origin) })
        break
      }
      case 'tool-approval-response': {
        const { toolCallId, approved } = chunk
        const call = this.#calls.get(toolCallId)
        const { agentId, node } = this.#waiting.get(toolCallId) ?? {}
        this.#waiting.delete(toolCallId)
        const asker = { ...(agentId !== undefined && { agentId }), ...(node !== undefined && { node }) }
        if (approved && call?.isClient) this.#waitForClient(toolCallId, call, asker)
        break
      }
      case 'interrupt': {
        const { interruptId: id } = chunk
        this.#waiting.set(id, { kind: 'interrupt', id, chunk, ...askerIn(origin) })
        break
      }
      case 'interrupt-response':
        this.#waiting.delete(chunk.interruptId)
        break
      case 'subagent-end':
        for (const [key, { agentId }] of this.#waiting) if (agentId === chunk.agentId) this.#waiting.delete(key)
        break
      default:
        if (isToolResult(chunk)) this.#waiting.delete(chunk.toolCallId)
    }
  }

  #waitForClient(toolCallId: string, { toolName, input }: KortyxCall, asker: Asker): void {
    this.#waiting.set(toolCallId, { kind: 'client-tool', id: toolCallId, toolCallId, toolName, input, ...asker })
  }

  /** The tool of a call that something came of; undefined where clients know nothing of it. */
  settled(toolCallId: string): string | undefined {
    const call = this.#calls.get(toolCallId)
    this.#calls.delete(toolCallId)
    return call?.toolName
  }

  /** The same of a call that was taken back: it waits for nobody. */
  takenBack(toolCallId: string): string | undefined {
    this.#waiting.delete(toolCallId)
    return this.settled(toolCallId)
  }
}

type Asker = Pick<KortyxPending, 'node' | 'agentId'>

/** Who asks. */
const askerIn = (origin: Origin | undefined): Asker => {
  if (origin === undefined || origin.guest !== undefined) return {}
  const { agentId, node } = origin
  return node === undefined ? { agentId } : { agentId, node }
}
