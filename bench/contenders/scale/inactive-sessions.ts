// Inactive sessions: memory of the process that drove them, and that they can still be read.
import { deepStrictEqual } from 'node:assert/strict'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { answer } from '../../fixtures/text.ts'
import { type Job, job } from '../../harness/suite.ts'
import type { Backend } from '../log/target.ts'
import { inParallel } from '../runtime/in-parallel.ts'
import { modelOf, textParts, toolCallParts } from '../runtime/model.ts'
import { bytesPerItem, memory, memoryRemark } from './memory.ts'
import { openRunServer, type RunServer } from './ours.ts'

/** Idle: its run has ended. Paused: its run waits for approval. */
export type InactiveState = 'idle' | 'paused'

/** Sessions that are started or read at the same time. */
const CONCURRENCY = 64
/** Minimum number of sessions that are read at the end. */
const MIN_READ_SESSIONS = 50
/** Tokens of an answer. */
const TOKENS = 50

const toolCallId = 'call-1'

/** Starts sessions and waits until they are idle or paused. Then reads some of them, after approval if they are paused. */
export async function inactiveSessions(
  backend: Backend,
  state: InactiveState,
  count: number,
  workIndex: number,
): Promise<Job> {
  const server = await openRunServer(backend, 16)
  const { deltas } = answer(TOKENS, workIndex)
  const model = state === 'idle' ? modelOf(() => textParts(deltas)) : approvalModel(deltas)
  const interval = Math.ceil(count / MIN_READ_SESSIONS)
  return job(
    async () => {
      // Derived names, so that no list of them is retained.
      const name = crypto.randomUUID()
      const idOf = (n: number): string => `${name}-${n}`
      await inParallel(Math.min(CONCURRENCY, count), CONCURRENCY, n => runToStop(server, `first-${idOf(n)}`, model))
      const before = await memory(count)
      const states = new Map<string, number>()
      await inParallel(count, CONCURRENCY, async n => {
        const status = await runToStop(server, idOf(n), model)
        states.set(status, (states.get(status) ?? 0) + 1)
      })
      const after = await memory(count)
      const texts = await inParallel(Math.ceil(count / interval), CONCURRENCY, n =>
        textOf(server, state, idOf(n * interval), model),
      )
      return { states: [...states], before, after, texts: [...new Set(texts)] }
    },
    ({ states, texts }) => {
      deepStrictEqual(states, [[state === 'idle' ? 'completed' : 'paused', count]])
      deepStrictEqual(texts, [deltas.join('')])
    },
    ({ before, after }) => [bytesPerItem(before, after, count)],
    ({ before, after }) => [memoryRemark(before, after, count, 'session')],
  )
}

const approvalModel = (deltas: readonly string[]): LanguageModelV4 =>
  modelOf(step =>
    step === 0
      ? toolCallParts({ toolCallId, toolName: 'echo', input: '{"text":"to be approved"}' })
      : textParts(deltas),
  )

function runToStop({ withModel, start }: RunServer, id: string, model: LanguageModelV4): Promise<string> {
  return withModel([id], model, async () => (await (await start(id)).result()).status)
}

/** Text of a session, after approval if it is paused. */
function textOf(
  { runtime, withModel }: RunServer,
  state: InactiveState,
  id: string,
  model: LanguageModelV4,
): Promise<string | undefined> {
  return withModel([id], model, async () => {
    if (state === 'paused') {
      await runtime.answer(id, { kind: 'approval', id: `${id}::${toolCallId}`, approved: true })
      await runtime.run(id, id).result()
    }
    const { view } = await runtime.view(id)
    const part = view.messages.at(-1)?.parts.findLast(({ type }) => type === 'text')
    return part?.type === 'text' ? part.text : undefined
  })
}
