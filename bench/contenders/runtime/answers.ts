// One long answer, token by token: the model's stream alone, through the AI SDK, and as a run with a log.
import { answer, checkText } from '../../fixtures/text.ts'
import { type Job, job } from '../../harness/suite.ts'
import type { Backend } from '../log/target.ts'
import { modelOf, textParts } from './model.ts'

/** Reads the model's stream to its end. */
export function streamAlone(count: number, workIndex: number): Job {
  const parts = textParts(answer(count, workIndex).deltas)
  const model = modelOf(() => parts)
  return job(
    async () => {
      const { stream } = await model.doStream({ prompt: [] })
      let text = ''
      for await (const part of stream) if (part.type === 'text-delta') text += part.delta
      return text
    },
    text => checkText(text, answer(count, workIndex)),
  )
}

/** Streams the answer through `streamText`. */
export async function streamedText(count: number, workIndex: number): Promise<Job> {
  const { streamText } = await import('ai')
  const parts = textParts(answer(count, workIndex).deltas)
  const model = modelOf(() => parts)
  return job(
    async () => {
      let text = ''
      const { stream } = streamText({ model, prompt: 'Go.' })
      for await (const part of stream) if (part.type === 'text-delta') text += part.text
      return text
    },
    text => checkText(text, answer(count, workIndex)),
  )
}

/** Streams the answer as a run of ours. */
export async function answeredRun(backend: Backend, count: number, workIndex: number): Promise<Job> {
  const { openRunner } = await import('./ours.ts')
  const run = await openRunner(backend)
  const parts = textParts(answer(count, workIndex).deltas)
  return job(
    async () => {
      const { text } = await run(() => parts)
      return text
    },
    text => checkText(text, answer(count, workIndex)),
  )
}
