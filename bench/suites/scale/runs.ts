import type { Backend } from '../../contenders/log/target.ts'
import type { Benchmark, Claim, Contender } from '../../harness/suite.ts'

/** Tokens of each run. */
const TOKENS = 20
const backends: readonly Backend[] = ['memory', 'sqlite']
const module = () => import('../../contenders/scale/runs.ts')

/** Cost of a token by the number of concurrent runs. */
export function runsBenchmark(quick: boolean): Benchmark {
  const widths = quick ? [10, 100, 1_000] : [10, 100, 1_000, 10_000]
  const [few = 0, most = 0] = [widths.at(0), widths.at(-1)]
  const nameOf = (who: string, width: number): string => `${who}, ${width.toLocaleString('en')} at once`
  const contenders = (who: string, kind: Contender['kind'], prepare: Contender['prepare']): Contender[] =>
    widths.map(width => ({
      name: nameOf(who, width),
      kind,
      load: { pieces: most / width, items: width * TOKENS },
      warmUp: { pieces: 10, items: few * TOKENS },
      prepare,
    }))
  const ours = (backend: Backend) =>
    contenders(`ours, ${backend}`, 'ours', async (tokens, piece) =>
      (await module()).concurrentRuns(backend, TOKENS, tokens, piece),
    )
  const peer = 'AI SDK streamText'
  const growth = (who: string, under?: number): Claim => {
    return { kind: 'exponent', small: nameOf(who, few), large: nameOf(who, most), ...(under && { under }) }
  }
  return {
    name: 'runs',
    title: `${(most * TOKENS).toLocaleString('en')} tokens in runs of ${TOKENS}, so many of them in flight at once in one process`,
    item: 'token',
    rounds: quick ? 1 : 3,
    trial: 10 * TOKENS,
    contenders: [
      ...backends.flatMap(ours),
      ...contenders(peer, 'peer', async (tokens, piece) => (await module()).concurrentTexts(TOKENS, tokens, piece)),
    ],
    claims: [
      ...backends.map(backend => growth(`ours, ${backend}`, 1.1)),
      growth(peer),
      ...backends.flatMap(backend =>
        [few, most].map((width): Claim => {
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
