// Answers of so many models at once in one process: each says its first word, and goes on when all have.
import { strictEqual } from 'node:assert/strict'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { answer, checkText } from '../../fixtures/text.ts'
import { type Job, job } from '../../harness/suite.ts'
import type { Backend } from '../log/target.ts'
import { modelOf, spoken } from '../runtime/model.ts'
import { Barrier } from './barrier.ts'

/** Before the second word: a start of the stream, one of the text, and the first word come before. */
const SECOND = 3

/** As many runs as give so many tokens, of which each gives its share, in sessions of their own. */
export async function concurrentRuns(backend: Backend, each: number, tokens: number, piece: number): Promise<Job> {
  const { openServing } = await import('./ours.ts')
  const { withRun } = await openServing(backend)
  return concurrent(each, tokens, piece, (name, model) =>
    withRun(name, model, async run => {
      const { status, text } = await run.result()
      if (status !== 'completed') throw new Error(`a run is ${status}`)
      return text
    }),
  )
}

/** The same through `streamText`, which keeps nothing. */
export async function concurrentTexts(each: number, tokens: number, piece: number): Promise<Job> {
  const { streamText } = await import('ai')
  return concurrent(each, tokens, piece, async (_name, model) => {
    let text = ''
    for await (const part of streamText({ model, prompt: 'Go.' }).stream) {
      if (part.type === 'text-delta') text += part.text
    }
    return text
  })
}

function concurrent(
  each: number,
  tokens: number,
  piece: number,
  textOf: (name: string, model: LanguageModelV4) => Promise<string>,
): Job {
  const width = Math.ceil(tokens / each)
  const expected = answer(each, piece)
  const parts = spoken(expected.deltas)
  return job(
    () => {
      const barrier = new Barrier(width)
      const model = modelOf(() => parts, { before: SECOND, until: () => barrier.pass() })
      const name = crypto.randomUUID()
      return Promise.all(Array.from({ length: width }, (_, n) => textOf(`${name}-${n}`, model)))
    },
    texts => {
      strictEqual(texts.length, width)
      for (const text of texts) checkText(text, expected)
    },
  )
}
