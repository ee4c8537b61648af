// Agents that call sub-agents: many at once in one run, and one at a time in a session with many earlier calls.
import { deepStrictEqual } from 'node:assert/strict'
import type { Agent, Runtime } from '@millrace/runtime'
import { onCleanup, openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { OWN_FILE, openStore } from '../log/ours.ts'
import type { Backend } from '../log/target.ts'
import { modelOf, textParts, toolCallParts } from './model.ts'

/** The kind of callee. */
export type Callee = 'agent' | 'tool'

const WORKER_ANSWER = 'I am done.'

/** One run with one step that calls `calls` sub-agents of one step each, or tools. */
export async function parallelCalls(backend: Backend, callee: Callee, calls: number): Promise<Job> {
  const { runtime, parent } = await openParent(backend, callee, calls)
  return job(
    async () => {
      const run = await runtime.start({ agent: parent, input: 'Go.' })
      const { status, text, message } = await run.result()
      const outputs = message?.parts.flatMap(part => ('toolCallId' in part ? [part.output] : []))
      return { status, text, outputs }
    },
    result =>
      deepStrictEqual(result, {
        status: 'completed',
        text: 'All are done.',
        outputs: Array.from({ length: calls }, () => WORKER_ANSWER),
      }),
  )
}

/** Turns with one call each, in a session with `earlier` earlier calls. */
export async function turnsAfter(backend: Backend, callee: Callee, earlier: number, turns: number): Promise<Job> {
  const { runtime, parent } = await openParent(backend, callee, 1)
  const session = await sessionWithCalls(backend, callee, earlier)
  return job(
    async () => {
      const texts: string[] = []
      for (let n = 0; n < turns; n++) {
        texts.push((await (await runtime.start({ session, agent: parent, input: 'Go on.' })).result()).text)
      }
      return texts
    },
    texts =>
      deepStrictEqual(
        texts,
        Array.from({ length: turns }, () => 'All are done.'),
      ),
  )
}

/** A session with `earlier` calls, a hundred per run. */
const sessionWithCalls = openOnce(async (backend: Backend, callee: Callee, earlier: number): Promise<string> => {
  const session = crypto.randomUUID()
  const { runtime, parent } = await openParent(backend, callee, Math.min(earlier, 100))
  for (let n = 0; n < earlier; n += 100) await (await runtime.start({ session, agent: parent, input: 'Go.' })).result()
  return session
})

const openParent = openOnce(
  async (backend: Backend, callee: Callee, calls: number): Promise<{ runtime: Runtime; parent: Agent }> => {
    const { agent, createRuntime, tool } = await import('@millrace/runtime')
    const { z } = await import('zod')
    const input = z.object({ prompt: z.string() })
    const worker = agent({ name: 'worker', model: modelOf(() => textParts(['I am', ' done.'])) })
    const parent = agent({
      name: `parent-${callee}-${calls}`,
      // Call ids contain the run id, because they are unique in a session.
      model: ({ runId }) =>
        modelOf(step =>
          step === 0
            ? toolCallParts(
                ...Array.from({ length: calls }, (_, n) => {
                  return { toolCallId: `${runId}-${n}`, toolName: 'worker', input: '{"prompt":"Work."}' }
                }),
              )
            : textParts(['All are', ' done.']),
        ),
      // Keeps the current turn, so that the model always gets the same amount of history.
      trimHistory: messages => messages.slice(messages.findLastIndex(({ role }) => role === 'user')),
      ...(callee === 'agent'
        ? { subAgents: [worker] }
        : { tools: [tool({ name: 'worker', inputSchema: input, execute: () => WORKER_ANSWER })] }),
    })
    const runtime = createRuntime({ store: await openStore(backend, OWN_FILE), agents: [parent] })
    onCleanup(() => runtime.close())
    return { runtime, parent }
  },
)
