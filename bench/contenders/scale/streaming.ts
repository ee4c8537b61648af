// Streaming answers to one reader each in another process, and the memory that the server needs for each.
import { deepStrictEqual } from 'node:assert/strict'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { answer } from '../../fixtures/text.ts'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { startChild } from '../log/start-child.ts'
import type { Backend } from '../log/target.ts'
import { modelOf, textParts } from '../runtime/model.ts'
import type { AnswerRequest, ListenersReply, ListenersRequest } from './listeners.child.ts'
import { bytesPerItem, memory, memoryRemark } from './memory.ts'

/** The server: ours on a store; the AI SDK, alone or stored by resumable-stream; Hono; or plain node http. */
export type AnswerServerName = `ours ${Backend}` | 'ai' | 'ai resumable' | 'hono' | 'http'

/** A server that responds with a model's answer. */
export interface AnswerServer {
  readonly port: number
  /** Request for the answer of the given name. */
  requestFor(name: string): AnswerRequest
  /** Sets the model for the given names while the callback runs. */
  withModel<T>(names: readonly string[], model: LanguageModelV4, work: () => Promise<T>): Promise<T>
}

/** Tokens per answer, and the number of tokens after which all models pause. */
const TOKENS = 200
const TOKENS_BEFORE_PAUSE = 100
/** Index of the stream part with the first word. */
const FIRST_WORD = 2

const listenersChild = openOnce(() => startChild<ListenersRequest, ListenersReply>('../scale/listeners.child.ts'))

const openAnswerServer = openOnce(async (serverName: AnswerServerName): Promise<AnswerServer> => {
  switch (serverName) {
    case 'ai':
    case 'ai resumable':
      return (await import('./serve-ai.ts')).serveAi(serverName === 'ai resumable')
    case 'hono':
      return (await import('./serve-hono.ts')).serveHono()
    case 'http':
      return (await import('./serve-plain.ts')).servePlain()
    default:
      return (await import('./serve-ours.ts')).serveOurs(serverName.slice('ours '.length) as Backend)
  }
})

/** Starts `count` answers, pauses them in the middle, measures, and completes them. */
export async function streamingSessions(serverName: AnswerServerName, count: number, workIndex: number): Promise<Job> {
  const { port, requestFor, withModel } = await openAnswerServer(serverName)
  const { deltas } = answer(TOKENS, workIndex)
  const [half, full] = [deltas.slice(0, TOKENS_BEFORE_PAUSE).join(''), deltas.join('')]
  return job(
    async () => {
      const resumed = Promise.withResolvers<void>()
      const model = modelOf(
        () => textParts(deltas),
        part => (part === FIRST_WORD + TOKENS_BEFORE_PAUSE ? resumed.promise : undefined),
      )
      const id = crypto.randomUUID()
      const names = Array.from({ length: count }, (_, n) => `${id}-${n}`)
      const requests = names.map(requestFor)
      return withModel(names, model, async () => {
        const before = await memory(count)
        const { texts: halves } = await listenersChild().request({
          kind: 'connect',
          port,
          requests,
          length: half.length,
        })
        const after = await memory(count)
        resumed.resolve()
        const { texts: fullTexts } = await listenersChild().request({ kind: 'end' })
        return { halves, fullTexts, before, after }
      })
    },
    ({ halves, fullTexts }) => {
      deepStrictEqual(halves, [[half, count]])
      deepStrictEqual(fullTexts, [[full, count]])
    },
    ({ before, after }) => [bytesPerItem(before, after, count)],
    ({ before, after }) => [memoryRemark(before, after, count, 'session')],
  )
}
