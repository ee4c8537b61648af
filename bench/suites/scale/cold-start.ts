import type { FirstResponse } from '../../contenders/scale/cold-start.ts'
import type { Benchmark, Contender } from '../../harness/suite.ts'

const titles: Record<FirstResponse, string> = { view: 'its view', token: 'the first token of a new turn' }

/** Time of a new process to serve a session, by the length of the session. */
export function coldStartBenchmarks(quick: boolean): Benchmark[] {
  if (quick) return [coldStart('wall', [10, 100], true)]
  return [coldStart('wall', [10, 100, 1_000], false), coldStart('cpu', [10, 100, 1_000], false)]
}

function coldStart(unit: 'wall' | 'cpu', sizes: readonly number[], quick: boolean): Benchmark {
  const [few = 0, many = 0] = [sizes.at(0), sizes.at(-1)]
  const responses: readonly FirstResponse[] = ['view', 'token']
  const nameOf = (response: FirstResponse, turns: number): string =>
    `${titles[response]}, ${turns.toLocaleString('en')} turns`
  const measure = unit === 'wall' ? 'wall time' : 'CPU time in ms'
  return {
    name: unit === 'wall' ? 'cold-start' : 'cold-start-cpu',
    title: `${measure} of a new process until it has served a session in SQLite to a reader in another process, by number of turns`,
    item: 'start',
    unit: 'latency',
    rounds: quick ? 1 : 3,
    trial: 4,
    contenders: responses.flatMap(response =>
      sizes.map(
        (turns): Contender => ({
          name: nameOf(response, turns),
          kind: 'ours',
          load: { pieces: quick ? 3 : 5, items: turns },
          warmUp: { pieces: 1, items: few },
          prepare: async count =>
            (await import('../../contenders/scale/cold-start.ts')).coldStart(response, unit, count),
        }),
      ),
    ),
    claims: responses.map(response => ({ kind: 'ratio', of: nameOf(response, many), to: nameOf(response, few) })),
    needs: ['folder'],
    notes: [
      'one process per figure: it has loaded its code, opens the file, listens, and gets a request; no code is compiled yet',
      'the runtime wrote the session turn by turn; the new turn is sent to the model with all earlier turns',
      ...(quick ? ['quick: no 1,000 turns, and no CPU time'] : []),
    ],
  }
}
