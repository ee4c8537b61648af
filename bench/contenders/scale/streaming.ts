// Answers that are under way, each to a reader of its own in another process, and what the process that gives them holds for each.
import { deepStrictEqual } from 'node:assert/strict'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { answer } from '../../fixtures/text.ts'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { startChild } from '../log/start-child.ts'
import type { Backend } from '../log/target.ts'
import { modelOf, textParts } from '../runtime/model.ts'
import type { AnswerRequest, ListenersReply, ListenersRequest } from './listeners.child.ts'
import { bytesEach, memory, memoryRemark } from './memory.ts'

/** Who gives the answers: ours on a store; the AI SDK, alone or kept for who comes later by resumable-stream; Hono; or plain node http. */
export type AnswerServerName = `ours ${Backend}` | 'ai' | 'ai resumable' | 'hono' | 'http'

/** A server that gives a model's answer to whoever asks. */
export interface AnswerServer {
  readonly port: number
  /** What asks for the answer of that name. */
  asking(name: string): AnswerRequest
  /** Says who answers to those names, while something is done. */
  withModel<T>(names: readonly string[], model: LanguageModelV4, work: () => Promise<T>): Promise<T>
}

/** Tokens of an answer, and how many of them have been said when all wait. */
const TOKENS = 200
const SAID = 100
/** The number of the part that has the first word. */
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

/** So many answers come to their middle, wait there, and go on to their end. */
export async function streamingSessions(serverName: AnswerServerName, count: number, piece: number): Promise<Job> {
  const { port, asking, withModel } = await openAnswerServer(serverName)
  const { deltas } = answer(TOKENS, piece)
  const [half, whole] = [deltas.slice(0, SAID).join(''), deltas.join('')]
  return job(
    async () => {
      const goOn = Promise.withResolvers<void>()
      const model = modelOf(
        () => textParts(deltas),
        part => (part === FIRST_WORD + SAID ? goOn.promise : undefined),
      )
      const id = crypto.randomUUID()
      const names = Array.from({ length: count }, (_, n) => `${id}-${n}`)
      const requests = names.map(asking)
      return withModel(names, model, async () => {
        const before = await memory(count)
        const { texts: halves } = await listenersChild().request({
          kind: 'connect',
          port,
          requests,
          length: half.length,
        })
        const after = await memory(count)
        goOn.resolve()
        const { texts: wholes } = await listenersChild().request({ kind: 'end' })
        return { halves, wholes, before, after }
      })
    },
    ({ halves, wholes }) => {
      deepStrictEqual(halves, [[half, count]])
      deepStrictEqual(wholes, [[whole, count]])
    },
    ({ before, after }) => [bytesEach(before, after, count)],
    ({ before, after }) => [memoryRemark(before, after, count, 'session')],
  )
}
