import type { Backend } from '../../contenders/log/target.ts'
import type { Benchmark, Claim, Contender } from '../../harness/suite.ts'

/** Tokens of each run. */
const TOKENS = 20
const backends: readonly Backend[] = ['memory', 'sqlite']
const module = () => import('../../contenders/scale/runs.ts')

/** What a token costs by how many runs are in flight at once. */
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
      'the models say a word each in turn, and ours does not wait for others to join it, so that a word is an append at any width, as of a model of 50 words a second',
      'ours is the whole of a run: the request, its log, and a reader of the result',
      'a token costs a share of its run too, the same at any width; the AI SDK keeps nothing',
      ...(quick ? ['quick: no 10,000 at once'] : []),
    ],
  }
}
