// Concurrent answers in one process. The models write in turn, one word at a time.
import { strictEqual } from 'node:assert/strict'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { answer, checkText } from '../../fixtures/text.ts'
import { type Job, job } from '../../harness/suite.ts'
import type { Backend } from '../log/target.ts'
import { modelOf, textParts } from '../runtime/model.ts'
import { Rounds } from './rounds.ts'

/** Index of the stream part with the first word. */
const FIRST_WORD = 2

/** Runs that produce `tokens` tokens together, `tokensPerRun` tokens per run, each run in its own session. */
export async function concurrentRuns(
  backend: Backend,
  tokensPerRun: number,
  tokens: number,
  workIndex: number,
): Promise<Job> {
  const { openRunServer } = await import('./ours.ts')
  const { runtime, start, withModel } = await openRunServer(backend, 0)
  const textOf = (name: string, model: LanguageModelV4) =>
    withModel([name], model, async () => {
      const { status, text } = await (await start(name)).result()
      if (status !== 'completed') throw new Error(`expected a completed run, found ${status}`)
      return text
    })
  const entriesOf = async (name: string) => (await runtime.manager.getInfo(name))?.head
  return concurrent(tokensPerRun, tokens, workIndex, textOf, entriesOf)
}

/** Runs the load through `streamText`, which stores nothing. */
export async function concurrentTexts(tokensPerRun: number, tokens: number, workIndex: number): Promise<Job> {
  const { streamText } = await import('ai')
  return concurrent(tokensPerRun, tokens, workIndex, async (_name, model) => {
    let text = ''
    for await (const part of streamText({ model, prompt: 'Go.' }).stream) {
      if (part.type === 'text-delta') text += part.text
    }
    return text
  })
}

function concurrent(
  tokensPerRun: number,
  tokens: number,
  workIndex: number,
  textOf: (name: string, model: LanguageModelV4) => Promise<string>,
  entriesOf?: (name: string) => Promise<number | undefined>,
): Job {
  const width = Math.ceil(tokens / tokensPerRun)
  const expected = answer(tokensPerRun, workIndex)
  const parts = textParts(expected.deltas)
  return job(
    async () => {
      const rounds = new Rounds(width)
      const isAfterFirstWord = (part: number) => part > FIRST_WORD && part < FIRST_WORD + tokensPerRun
      const model = modelOf(
        () => parts,
        part => (isAfterFirstWord(part) ? rounds.end() : undefined),
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
    // The number of entries shows whether a run does equal work at each concurrency. The first piece of work reports it.
    ({ entries }) => (entries === undefined || workIndex > 0 ? [] : [`${entries} entries a run`]),
  )
}
