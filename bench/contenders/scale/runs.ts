// Answers of so many models at once in one process, a word of each in turn.
import { strictEqual } from 'node:assert/strict'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { answer, checkText } from '../../fixtures/text.ts'
import { type Job, job } from '../../harness/suite.ts'
import type { Backend } from '../log/target.ts'
import { modelOf, textParts } from '../runtime/model.ts'
import { Rounds } from './rounds.ts'

/** The number of the part that has the first word. */
const FIRST_WORD = 2

/** As many runs as give so many tokens, of which each gives its share, in sessions of their own. */
export async function concurrentRuns(backend: Backend, each: number, tokens: number, piece: number): Promise<Job> {
  const { openServing } = await import('./ours.ts')
  const { runtime, start, withModel } = await openServing(backend, 0)
  const textOf = (name: string, model: LanguageModelV4) =>
    withModel([name], model, async () => {
      const { status, text } = await (await start(name)).result()
      if (status !== 'completed') throw new Error(`a run is ${status}`)
      return text
    })
  const entriesOf = async (name: string) => (await runtime.manager.getInfo(name))?.head
  return concurrent(each, tokens, piece, textOf, entriesOf)
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
  entriesOf?: (name: string) => Promise<number | undefined>,
): Job {
  const width = Math.ceil(tokens / each)
  const expected = answer(each, piece)
  const parts = textParts(expected.deltas)
  return job(
    async () => {
      const rounds = new Rounds(width)
      const isLater = (part: number) => part > FIRST_WORD && part < FIRST_WORD + each
      const model = modelOf(
        () => parts,
        part => (isLater(part) ? rounds.end() : undefined),
      )
      const name = crypto.randomUUID()
      const texts = await Promise.all(Array.from({ length: width }, (_, n) => textOf(`${name}-${n}`, model)))
      return { texts, entries: await entriesOf?.(`${name}-0`) }
    },
    ({ texts }) => {
      strictEqual(texts.length, width)
      for (const text of texts) checkText(text, expected)
    },
    undefined,
    // They show whether the same was done at each width. Of many pieces the first will do.
    ({ entries }) => (entries === undefined || piece > 0 ? [] : [`${entries} entries a run`]),
  )
}
