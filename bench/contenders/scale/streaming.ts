// Answers that are under way, each to a reader of its own in another process, and what the process that gives them holds for each.
import { deepStrictEqual } from 'node:assert/strict'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { answer } from '../../fixtures/text.ts'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { apart } from '../log/apart.ts'
import type { Backend } from '../log/target.ts'
import { modelOf, spoken } from '../runtime/model.ts'
import type { Asked, Asking, Told } from './listeners.child.ts'
import { bytesEach, memory, memoryRemark } from './memory.ts'

/** Who gives the answers: ours on a store; the AI SDK, alone or kept for who comes later by resumable-stream; Hono; or plain node http. */
export type Giver = `ours ${Backend}` | 'ai' | 'ai resumable' | 'hono' | 'http'

/** A server that gives a model's answer to whoever asks. */
export interface Giving {
  readonly port: number
  /** What asks for the answer of that name. */
  asking(name: string): Asking
  /** Says who answers to those names, while something is done. */
  withModel<T>(names: readonly string[], model: LanguageModelV4, work: () => Promise<T>): Promise<T>
}

/** Tokens of an answer, and how many of them have been said when all wait. */
const TOKENS = 200
const SAID = 100
/** The number of the part that has the first word. */
const FIRST_WORD = 2

const listenersApart = openOnce(() => apart<Asked, Told>('../scale/listeners.child.ts'))

const giving = openOnce(async (giver: Giver): Promise<Giving> => {
  switch (giver) {
    case 'ai':
    case 'ai resumable':
      return (await import('./give-ai.ts')).giveAi(giver === 'ai resumable')
    case 'hono':
      return (await import('./give-hono.ts')).giveHono()
    case 'http':
      return (await import('./give-plain.ts')).givePlain()
    default:
      return (await import('./give-ours.ts')).giveOurs(giver.slice('ours '.length) as Backend)
  }
})

/** So many answers come to their middle, wait there, and go on to their end. */
export async function streamingSessions(giver: Giver, count: number, piece: number): Promise<Job> {
  const { port, asking, withModel } = await giving(giver)
  const { deltas } = answer(TOKENS, piece)
  const [half, whole] = [deltas.slice(0, SAID).join(''), deltas.join('')]
  return job(
    async () => {
      const goOn = Promise.withResolvers<void>()
      const model = modelOf(
        () => spoken(deltas),
        part => (part === FIRST_WORD + SAID ? goOn.promise : undefined),
      )
      const id = crypto.randomUUID()
      const names = Array.from({ length: count }, (_, n) => `${id}-${n}`)
      const askings = names.map(asking)
      return withModel(names, model, async () => {
        const before = await memory(count)
        const { texts: halves } = await listenersApart().ask({ kind: 'come', port, askings, length: half.length })
        const after = await memory(count)
        goOn.resolve()
        const { texts: wholes } = await listenersApart().ask({ kind: 'end' })
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
