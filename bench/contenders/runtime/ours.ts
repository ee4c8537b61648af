// Our runs, with one runtime per process, backend and kind of tool.
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { Run, RunResult, Runtime } from '@millrace/runtime'
import { onCleanup, openOnce } from '../../harness/cleanup.ts'
import { OWN_FILE, openStore } from '../log/ours.ts'
import type { Backend } from '../log/target.ts'
import { modelOf } from './model.ts'

/** Parts of the answer by step number. */
export type AnswerSteps = (step: number) => readonly LanguageModelV4StreamPart[]

/** A runtime with one agent and its tool `echo`. */
export interface OpenedRuntime {
  readonly runtime: Runtime
  /** Starts a run with the given answers in a new session and passes it to the callback. */
  withRun<T>(answers: AnswerSteps, use: (run: Run) => Promise<T>): Promise<T>
}

export const openRuntime = openOnce(async (backend: Backend, asks: 'approval' | 'nothing'): Promise<OpenedRuntime> => {
  const { agent, createRuntime, tool } = await import('@millrace/runtime')
  const { z } = await import('zod')
  const input = z.object({ text: z.string() })
  const echo = tool({ name: 'echo', inputSchema: input, approval: asks === 'approval', execute: echoed => echoed })
  const answers = new Map<string, AnswerSteps>()
  const program = agent({
    name: `bench-${asks}`,
    model: ({ runId }) => modelOf(step => (answers.get(runId) as AnswerSteps)(step)),
    tools: [echo],
    budget: { tokens: Number.POSITIVE_INFINITY },
  })
  const runtime = createRuntime({ store: await openStore(backend, OWN_FILE), agents: [program] })
  onCleanup(() => runtime.close())
  return {
    runtime,
    async withRun(scriptedAnswers, use) {
      const runId = crypto.randomUUID()
      answers.set(runId, scriptedAnswers)
      try {
        return await use(await runtime.start({ agent: program, runId, input: 'Go.' }))
      } finally {
        answers.delete(runId)
      }
    },
  }
})

/** Runs an agent with the given answers to its end. */
export async function openRunner(backend: Backend): Promise<(answers: AnswerSteps) => Promise<RunResult>> {
  const { withRun } = await openRuntime(backend, 'nothing')
  return answers => withRun(answers, run => run.result())
}
