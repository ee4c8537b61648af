import { type Chunk, type Entry, isGuest } from '@millrace/protocol'
import { Clock } from '../../../../scripts/clock.ts'
import { decodeBatch } from '../store/entry.ts'
import type { LogStore } from '../store/log-store.ts'
import { Memory, memoryStore } from '../stores/memory/memory-store.ts'
import type { Writer } from '../write/writer.ts'
import { InstrumentedStore } from './instrumented-store.fixture.ts'
import { StreamManager, type StreamManagerOptions } from './stream-manager.ts'

export const ID = 's'

/** A manager on a memory store, with a virtual clock. */
export class World {
  readonly clock = new Clock()
  readonly memory = new Memory({ clock: this.clock.now })
  readonly tap = new InstrumentedStore(memoryStore(undefined, this.memory))
  readonly manager: StreamManager

  constructor(options: Partial<StreamManagerOptions> = {}) {
    this.manager = this.process(options)
  }

  /** A manager of another process. */
  process(options: Partial<StreamManagerOptions> = {}): StreamManager {
    return new StreamManager({ store: this.tap.store, timers: this.clock, ...options })
  }

  /** A writer with a run that started a while ago, so that its next delta is appended at once. */
  async writer(runId = 'r1', manager = this.manager): Promise<Writer> {
    const writer = await manager.createWriter(ID, { runId, agentType: 'assistant' })
    await writer.commit([])
    await this.clock.advance(100)
    return writer
  }

  /** The entries of the log. */
  log(streamId = ID): Promise<Entry[]> {
    return entriesOf(this.tap.store, streamId)
  }

  /** The log, one line per chunk. */
  async lines(streamId = ID): Promise<string[]> {
    return (await this.log(streamId)).map(lineOf)
  }
}

/** All entries of a log that was not trimmed. */
export async function entriesOf(store: LogStore, streamId: string): Promise<Entry[]> {
  const page = await store.read(streamId, { sequence: 0 }, { batches: 1_000_000, bytes: 2 ** 30 })
  return page?.batches.flatMap(decodeBatch) ?? []
}

/** An entry as a short text: origin, lane if not the main one, chunk. */
export function lineOf({ chunk, origin }: Pick<Entry, 'chunk' | 'origin'>): string {
  const { id, delta, toolCallId, message } = chunk as {
    id?: string
    delta?: string
    toolCallId?: string
    message?: unknown
  }
  const details = [chunk.type, id ?? toolCallId, delta ?? (typeof message === 'string' ? message : undefined)]
  const author = isGuest(origin) ? `${origin.guest}: ` : origin.lane === 'main' ? '' : `${origin.lane}: `
  return author + details.filter(word => word !== undefined).join(' ')
}

export const delta = (text: string, id = '1'): Chunk => ({ type: 'text-delta', id, delta: text })
export const ask = (approvalId: string, more: object = {}): Chunk => {
  return { type: 'tool-approval-request', toolCallId: `call-${approvalId}`, approvalId, input: 1, ...more }
}
export const approve = (approvalId: string, approved = true): Chunk => {
  return { type: 'tool-approval-response', toolCallId: `call-${approvalId}`, approvalId, approved }
}
export const clientCall = (toolCallId: string, more: object = {}): Chunk => {
  return { type: 'tool-input-available', toolCallId, toolName: 't', input: 1, executor: 'client', ...more }
}
export const output = (toolCallId: string, value: string | number = 1): Chunk => {
  return { type: 'tool-output-available', toolCallId, output: value }
}
export const request = (runId: string, more: object = {}): Chunk => {
  return { type: 'run-requested', runId, program: 'agent:assistant@1', ...more }
}
export const stop = (runId: string): Chunk => ({ type: 'stop-requested', runId })

/** The code with which a promise rejects. */
export const failure = (promise: PromiseLike<unknown>): Promise<string> =>
  Promise.resolve(promise).then(() => 'nothing was thrown', codeOf)

/** The code with which a call throws. */
export function thrown(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    return codeOf(error)
  }
  return 'nothing was thrown'
}

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? String(error)
