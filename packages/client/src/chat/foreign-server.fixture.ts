// A scripted server of another system.

import type { ForeignReply, ForeignRequest, ForeignServer } from '@millrace/dialects/foreign-server'
import { ForeignConnection } from '@millrace/dialects/foreign-server'
import type { Chunk } from '@millrace/protocol'

type Status = ForeignReply['status']

/** One reply: chunks, promises to wait for, errors to throw, and a status. A reply without a status is dropped at its end. */
interface ScriptedReply {
  readonly steps: readonly (Chunk | Promise<unknown> | Error)[]
  readonly status?: Status
  readonly isReplay?: boolean
  readonly messageId?: string
}

const replyOf = ({ steps, status, isReplay, messageId }: ScriptedReply, signal: AbortSignal): ForeignReply => {
  let isDone = false
  return {
    get status() {
      return isDone ? status : undefined
    },
    isReplay,
    async *[Symbol.asyncIterator]() {
      for (const step of steps) {
        if (step instanceof Error) throw step
        if ('then' in step) {
          await Promise.race([
            step,
            new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
          ])
        } else yield [{ chunk: step, ...(messageId !== undefined && { messageId }) }]
      }
      isDone = true
    },
  }
}

export type Script = (request: ForeignRequest, nth: number) => ScriptedReply

export interface ServerScript {
  readonly ask: Script
  readonly resume?: (request: ForeignRequest, nth: number) => ScriptedReply | undefined
  readonly history?: NonNullable<ForeignServer['history']>
}

/** A foreign server that records its requests. */
export class ScriptedForeignServer implements ForeignServer {
  readonly name = 'scripted'
  readonly requests: ForeignRequest[] = []
  readonly stopped: string[] = []
  resumed = 0
  readonly connection: ForeignConnection
  readonly #script: ServerScript
  readonly resume?: NonNullable<ForeignServer['resume']>
  readonly history?: NonNullable<ForeignServer['history']>

  constructor(script: ServerScript | Script) {
    this.#script = typeof script === 'function' ? { ask: script } : script
    const { resume, history } = this.#script
    if (resume) {
      this.resume = async request => {
        const reply = resume(request, ++this.resumed)
        return reply && replyOf(reply, request.signal)
      }
    }
    if (history) this.history = history
    this.connection = new ForeignConnection(this)
  }

  async ask(request: ForeignRequest): Promise<ForeignReply> {
    this.requests.push(request)
    return replyOf(this.#script.ask(request, this.requests.length), request.signal)
  }

  async stop({ runId }: { readonly runId: string }): Promise<void> {
    this.stopped.push(runId)
  }
}

/** Chunks of a reply with one text. */
export const text = (...deltas: readonly string[]): Chunk[] => [
  { type: 'start' },
  { type: 'step-start' },
  { type: 'text-start', id: '0' },
  ...deltas.map((delta): Chunk => ({ type: 'text-delta', id: '0', delta })),
  { type: 'text-end', id: '0' },
  { type: 'finish', finishReason: 'stop' },
]
