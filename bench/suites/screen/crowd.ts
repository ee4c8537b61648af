import type { Benchmark } from '../../harness/suite.ts'
import { NOTES, OURS, pageContenders, peerClaims, TRIAL } from './pages.ts'

const CROWDS = [1, 10, 50]
const CROWD_IF_QUICK = 10
const MOUNTED = 1000
const TOKENS_A_SECOND = 20

/** Concurrent answers on one page: CPU time of its main thread, and dropped frames. */
export function crowdBenchmarks(quick: boolean): Benchmark[] {
  if (quick) return [cpu(CROWD_IF_QUICK, quick)]
  return CROWDS.flatMap(answers => [cpu(answers, quick), frames(answers, quick)])
}

function crowd(answers: number, figure: 'cpu' | 'frames', quick: boolean) {
  const tokens = (quick ? 2 : 5) * TOKENS_A_SECOND
  const load = { answers, paceMs: 1000 / TOKENS_A_SECOND, mounted: MOUNTED }
  return {
    unit: 'times' as const,
    reference: OURS,
    rounds: quick ? 1 : 3,
    trial: TRIAL,
    contenders: pageContenders(figure, tokens, TOKENS_A_SECOND, load),
    notes: [
      ...NOTES,
      'ours has one connection for all sessions; the others have a request per answer, of which a browser allows six per origin over HTTP/1.1, so their servers use several origins',
      ...(quick ? ['quick: one number of answers, without dropped frames'] : []),
    ],
  } satisfies Partial<Benchmark>
}

const loadText = (answers: number): string =>
  `${answers} answers at once, of ${TOKENS_A_SECOND} tokens a second each, ${MOUNTED.toLocaleString('en')} messages mounted`

function cpu(answers: number, quick: boolean): Benchmark {
  return {
    name: `crowd-${answers}`,
    title: `seconds of CPU time of the page’s main thread in a second; ${loadText(answers)}`,
    item: 'second',
    ...crowd(answers, 'cpu', quick),
    claims: peerClaims(['ratio']),
  }
}

function frames(answers: number, quick: boolean): Benchmark {
  return {
    name: `crowd-${answers}-frames`,
    title: `dropped frames, of 60 a second; ${loadText(answers)}`,
    item: 'frame',
    ...crowd(answers, 'frames', quick),
    // No ratio claims: the dropped frames of a contender can be zero.
    claims: [{ kind: 'cost', of: OURS }],
  }
}
