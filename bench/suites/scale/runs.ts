import type { Backend } from '../../contenders/log/target.ts'
import type { Benchmark, Claim, Contender } from '../../harness/suite.ts'

/** Tokens of each run. */
const TOKENS = 20
const backends: readonly Backend[] = ['memory', 'sqlite']
const module = () => import('../../contenders/scale/runs.ts')

/** Cost of a token by the number of concurrent runs. */
export function runsBenchmark(quick: boolean): Benchmark {
  const widths = quick ? [10, 100, 1_000] : [10, 100, 1_000, 10_000]
  const [few = 0, many = 0] = [widths.at(0), widths.at(-1)]
  const nameOf = (contender: string, width: number): string => `${contender}, ${width.toLocaleString('en')} at once`
  const contenders = (contender: string, kind: Contender['kind'], prepare: Contender['prepare']): Contender[] =>
    widths.map(width => ({
      name: nameOf(contender, width),
      kind,
      load: { pieces: many / width, items: width * TOKENS },
      warmUp: { pieces: 10, items: few * TOKENS },
      prepare,
    }))
  const ours = (backend: Backend) =>
    contenders(`ours, ${backend}`, 'ours', async (tokens, workIndex) =>
      (await module()).concurrentRuns(backend, TOKENS, tokens, workIndex),
    )
  const peer = 'AI SDK streamText'
  const growth = (contender: string, under?: number): Claim => {
    return { kind: 'exponent', small: nameOf(contender, few), large: nameOf(contender, many), ...(under && { under }) }
  }
  return {
    name: 'runs',
    title: `${(many * TOKENS).toLocaleString('en')} tokens in runs of ${TOKENS}, by the number of runs in flight in one process`,
    item: 'token',
    rounds: quick ? 1 : 3,
    trial: 10 * TOKENS,
    contenders: [
      ...backends.flatMap(ours),
      ...contenders(peer, 'peer', async (tokens, workIndex) =>
        (await module()).concurrentTexts(TOKENS, tokens, workIndex),
      ),
    ],
    claims: [
      ...backends.map(backend => growth(`ours, ${backend}`, 1.1)),
      growth(peer),
      ...backends.flatMap(backend =>
        [few, many].map((width): Claim => {
          return { kind: 'ratio', of: nameOf(`ours, ${backend}`, width), to: nameOf(peer, width) }
        }),
      ),
    ],
    needs: ['folder'],
    notes: [
      'the models emit one word each in turn and ours does not coalesce, so a word is one append at any concurrency, like a model of 50 words per second',
      'ours includes the request, its log, and a reader of the result',
      'the fixed cost of a run is part of a token at any concurrency; the AI SDK stores nothing',
      ...(quick ? ['quick: no 10,000 at once'] : []),
    ],
  }
}
