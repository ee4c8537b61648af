// Agents that call a tool in each step: through the AI SDK, which stores nothing, and as runs.
import { deepStrictEqual } from 'node:assert/strict'
import { type Job, job } from '../../harness/suite.ts'
import type { Backend } from '../log/target.ts'
import { inParallel } from './in-parallel.ts'
import { modelOf, textParts, toolCallParts } from './model.ts'

const wordsOf = (run: number): string[] => ['All', ' is', ' well', ` with ${run}`]
const inputOf = (run: number, step: number): string => JSON.stringify({ text: `run ${run}, step ${step}` })

/** A call in each step but the last, then text. */
const answersOf = (run: number, steps: number) => (step: number) =>
  step < steps - 1
    ? toolCallParts({ toolCallId: `${run}-${step}`, toolName: 'echo', input: inputOf(run, step) })
    : textParts(wordsOf(run))

/** Expected texts of the runs of a piece. */
function expected(workIndex: number, runs: number): string[] {
  return Array.from({ length: runs }, (_, i) => wordsOf(workIndex * runs + i).join(''))
}

/** Runs of `steps` steps through `streamText`. */
export async function streamedSteps(steps: number, concurrency: number, runs: number, workIndex: number): Promise<Job> {
  const { stepCountIs, streamText, tool } = await import('ai')
  const { z } = await import('zod')
  const tools = { echo: tool({ inputSchema: z.object({ text: z.string() }), execute: async input => input }) }
  return job(
    () =>
      inParallel(runs, concurrency, async n => {
        const model = modelOf(answersOf(workIndex * runs + n, steps))
        const result = streamText({ model, tools, prompt: 'Go.', stopWhen: stepCountIs(steps + 1) })
        let text = ''
        for await (const part of result.stream) if (part.type === 'text-delta') text += part.text
        return text
      }),
    texts => deepStrictEqual(texts, expected(workIndex, runs)),
  )
}

/** Executes the steps as runs of ours. */
export async function steppedRuns(
  backend: Backend,
  steps: number,
  concurrency: number,
  runs: number,
  workIndex: number,
): Promise<Job> {
  const { openRunner } = await import('./ours.ts')
  const run = await openRunner(backend)
  return job(
    () => inParallel(runs, concurrency, async n => (await run(answersOf(workIndex * runs + n, steps))).text),
    texts => deepStrictEqual(texts, expected(workIndex, runs)),
  )
}
