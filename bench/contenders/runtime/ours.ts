// Runs of ours, one runtime for a process and backend.
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { RunResult } from '@millrace/runtime'
import { atEnd, opened } from '../../harness/closing.ts'
import { OWN_FILE, openStore } from '../log/ours.ts'
import type { Backend } from '../log/target.ts'
import { modelOf } from './model.ts'

/** Answers by the number of the step. */
export type Answers = (step: number) => readonly LanguageModelV4StreamPart[]

/** Runs an agent that calls `echo` and answers so, in a session of its own, to its end. */
export const runner = opened(async (backend: Backend): Promise<(answers: Answers) => Promise<RunResult>> => {
  const { agent, createRuntime, tool } = await import('@millrace/runtime')
  const { z } = await import('zod')
  const echo = tool({ name: 'echo', input: z.object({ text: z.string() }), execute: input => input })
  const answers = new Map<string, Answers>()
  const program = agent({
    name: 'bench',
    model: ({ runId }) => modelOf(step => (answers.get(runId) as Answers)(step)),
    tools: [echo],
    budget: { tokens: Number.POSITIVE_INFINITY },
  })
  const runtime = createRuntime({ store: await openStore(backend, OWN_FILE), agents: [program] })
  atEnd(() => runtime.close())
  return async own => {
    const runId = crypto.randomUUID()
    answers.set(runId, own)
    try {
      return await (await runtime.start({ agent: program, runId, input: 'Go.' })).result()
    } finally {
      answers.delete(runId)
    }
  }
})
