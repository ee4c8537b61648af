import type { PageAnswer, PageFigure } from '../../contenders/client/page.ts'
import { TRIAL } from '../../contenders/client/trial.ts'
import type { Benchmark, Claim, Contender } from '../../harness/suite.ts'

const MOUNTED = 1000
const MOUNTED_IN_TRIAL = 50
/** Interval between words in ms. The fast model sends several words per screen frame, the slow one less than one. */
const FAST_MS = 4
const SLOW_MS = 40

const pages = [
  { system: 'ours', name: 'ours' },
  { system: 'mui', name: 'MUI hooks' },
  { system: 'ai', name: 'AI SDK useChat' },
  { system: 'tanstack', name: 'TanStack ChatClient' },
] as const satisfies { system: PageAnswer['system']; name: string }[]

/** Cost of an answer on a page of React components in Chromium. */
export function pageBenchmarks(quick: boolean): Benchmark[] {
  const ours = pages[0].name
  const benchmark = (
    name: string,
    title: string,
    figure: PageFigure,
    paceMs: number,
    words: number,
    claims: Claim[],
  ): Benchmark => ({
    name,
    title: `${title}; ${MOUNTED.toLocaleString('en')} messages mounted, a word every ${paceMs} ms`,
    item: figure === 'commits' ? 'frame' : 'word',
    unit: figure === 'commits' ? 'times' : 'latency',
    reference: ours,
    rounds: quick ? 1 : 3,
    trial: TRIAL,
    contenders: pages.map(
      ({ system, name }): Contender => ({
        name,
        kind: system === 'ours' ? 'ours' : 'peer',
        load: { pieces: 1, items: words },
        warmUp: { pieces: 1, items: Math.ceil(words / 4) },
        prepare: async (count, workIndex) => {
          const mounted = count > TRIAL ? MOUNTED : MOUNTED_IN_TRIAL
          const { pageAnswer } = await import('../../contenders/client/page.ts')
          return pageAnswer({ system, mounted, paceMs, figure }, count, workIndex)
        },
      }),
    ),
    claims,
  })
  const peerClaims = pages.slice(1).flatMap(({ name }): Claim[] => [
    { kind: 'ratio', of: ours, to: name },
    { kind: 'tail', of: ours, to: name },
  ])
  const title = 'from the arrival of a word to the document change'
  return [
    benchmark('commits', 'how often React commits in a frame of 16 ms', 'commits', FAST_MS, quick ? 250 : 1000, [
      // The first and the last frame are partial.
      { kind: 'cost', of: ours, atMost: 1.02 },
    ]),
    benchmark('document', title, 'latency', FAST_MS, quick ? 250 : 1000, peerClaims),
    ...(quick ? [] : [benchmark('document-slow', title, 'latency', SLOW_MS, 100, peerClaims)]),
  ]
}
