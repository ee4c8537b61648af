// A server of another system's, as a script has it: what it says to each thing that it is asked.

import type { ForeignReply, ForeignRequest, ForeignServer } from '@millrace/dialects/foreign-server'
import { ForeignConnection } from '@millrace/dialects/foreign-server'
import type { Chunk } from '@millrace/protocol'

type Status = ForeignReply['status']

/** One reply: chunks, what is waited for between them, and how it ends; without a status it breaks off. */
interface Line {
  readonly say: readonly (Chunk | Promise<unknown> | Error)[]
  readonly status?: Status
  readonly isReplay?: boolean
  readonly messageId?: string
}

const replyOf = ({ say, status, isReplay, messageId }: Line, signal: AbortSignal): ForeignReply => {
  let isDone = false
  return {
    get status() {
      return isDone ? status : undefined
    },
    isReplay,
    async *[Symbol.asyncIterator]() {
      for (const one of say) {
        if (one instanceof Error) throw one
        if ('then' in one) {
          await Promise.race([
            one,
            new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
          ])
        } else yield [{ chunk: one, ...(messageId !== undefined && { messageId }) }]
      }
      isDone = true
    },
  }
}

export type Script = (request: ForeignRequest, nth: number) => Line

export interface PeerScript {
  readonly ask: Script
  readonly resume?: (request: ForeignRequest, nth: number) => Line | undefined
  readonly history?: NonNullable<ForeignServer['history']>
}

/** A peer that keeps what it was asked. */
export class ScriptedPeer implements ForeignServer {
  readonly name = 'scripted'
  readonly asked: ForeignRequest[] = []
  readonly stopped: string[] = []
  resumed = 0
  readonly connection: ForeignConnection
  readonly #script: PeerScript
  readonly resume?: NonNullable<ForeignServer['resume']>
  readonly history?: NonNullable<ForeignServer['history']>

  constructor(script: PeerScript | Script) {
    this.#script = typeof script === 'function' ? { ask: script } : script
    const { resume, history } = this.#script
    if (resume) {
      this.resume = async request => {
        const line = resume(request, ++this.resumed)
        return line && replyOf(line, request.signal)
      }
    }
    if (history) this.history = history
    this.connection = new ForeignConnection(this)
  }

  async ask(request: ForeignRequest): Promise<ForeignReply> {
    this.asked.push(request)
    return replyOf(this.#script.ask(request, this.asked.length), request.signal)
  }

  async stop({ runId }: { readonly runId: string }): Promise<void> {
    this.stopped.push(runId)
  }
}

/** A text, as a peer says it. */
export const text = (...deltas: readonly string[]): Chunk[] => [
  { type: 'start' },
  { type: 'step-start' },
  { type: 'text-start', id: '0' },
  ...deltas.map((delta): Chunk => ({ type: 'text-delta', id: '0', delta })),
  { type: 'text-end', id: '0' },
  { type: 'finish', finishReason: 'stop' },
]
