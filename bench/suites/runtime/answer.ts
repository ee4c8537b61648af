import type { Backend } from '../../contenders/log/target.ts'
import type { StatedInput } from '../../contenders/runtime/answer.ts'
import type { Benchmark, Contender } from '../../harness/suite.ts'
import { backends, needs } from './backends.ts'

const nameOf = (backend: Backend, entries: number): string => `${backend}, ${entries.toLocaleString('en')} entries`

/** Cost of an answer until it is accepted, by the length of the session. */
export function answerBenchmarks(quick: boolean): Benchmark[] {
  return [
    answerBenchmark('answer', 'nothing', 'an answer until it is accepted', backends, quick),
    answerBenchmark(
      'answer-input',
      'the input',
      'an answer with the input that was shown, until it is accepted',
      ['memory', 'sqlite'],
      quick,
    ),
  ]
}

function answerBenchmark(
  name: string,
  stated: StatedInput,
  title: string,
  places: readonly Backend[],
  quick: boolean,
): Benchmark {
  const sizes = quick ? [100, 3_000] : [100, 1_000, 10_000]
  // Limited by the number of pendings that can wait at once.
  const load = { pieces: 1, items: quick ? 20 : 100 }
  const contender = (backend: Backend, entries: number): Contender => ({
    name: nameOf(backend, entries),
    kind: 'ours',
    load,
    warmUp: load,
    prepare: async (count, workIndex) => {
      const { submitAnswers } = await import('../../contenders/runtime/answer.ts')
      return submitAnswers(backend, entries, stated, count, workIndex)
    },
  })
  const [small, large] = [sizes[0] as number, sizes.at(-1) as number]
  return {
    name,
    title: `${title}, by length of the session`,
    item: 'answer',
    unit: 'wall',
    rounds: quick ? 1 : 3,
    trial: 10,
    contenders: places.flatMap(backend => sizes.map(entries => contender(backend, entries))),
    claims: places.map(backend => ({ kind: 'ratio', of: nameOf(backend, large), to: nameOf(backend, small) })),
    needs,
    notes: ['no driver holds the session; from 500 entries on it has a snapshot, like any paused session'],
  }
}
