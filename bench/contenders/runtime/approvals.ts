// A run that asks for approval, pauses, is answered and ends; and the same run without approval.
import { deepStrictEqual, ok } from 'node:assert/strict'
import type { Run } from '@millrace/runtime'
import { type Job, job } from '../../harness/suite.ts'
import type { Backend } from '../log/target.ts'
import { inParallel } from './in-parallel.ts'
import { textParts, toolCallParts } from './model.ts'
import { openRuntime } from './ours.ts'

const toolCallId = 'call-1'

const inputOf = (run: number): { text: string } => ({ text: `of run ${run}` })

const answersOf = (run: number) => (step: number) =>
  step === 0
    ? toolCallParts({ toolCallId, toolName: 'echo', input: JSON.stringify(inputOf(run)) })
    : textParts(['All', ' is', ' well', ` with ${run}`])

/** Runs of two steps and one call, with or without approval. */
export async function approvedRuns(
  backend: Backend,
  asks: 'approval' | 'nothing',
  concurrency: number,
  runs: number,
  workIndex: number,
): Promise<Job> {
  const { runtime, withRun } = await openRuntime(backend, asks)
  const runToEnd = async (run: Run) => {
    if (asks === 'approval') {
      const { status } = await run.result()
      ok(status === 'paused', `expected a run that waits for approval to be paused, found ${status}`)
      const id = `${run.runId}::${toolCallId}`
      await runtime.answer(run.sessionId, { kind: 'approval', id, approved: true })
    }
    const { status, text, message } = await run.result()
    return { status, text, outputs: message?.parts.flatMap(part => ('toolCallId' in part ? [part.output] : [])) }
  }
  return job(
    () => inParallel(runs, concurrency, n => withRun(answersOf(workIndex * runs + n), runToEnd)),
    results =>
      deepStrictEqual(
        results,
        Array.from({ length: runs }, (_, n) => {
          const run = workIndex * runs + n
          return { status: 'completed', text: `All is well with ${run}`, outputs: [inputOf(run)] }
        }),
      ),
  )
}
