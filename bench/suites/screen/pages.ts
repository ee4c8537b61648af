import type { System } from '../../contenders/screen/open-server.ts'
import type { ScreenFigure } from '../../contenders/screen/page.ts'
import type { Claim, Contender } from '../../harness/suite.ts'

/** Tokens per answer in the tests. Tests also use a faster pace and a smaller page. */
export const TRIAL = 10
const PACE_IN_TRIAL_MS = 2
const ANSWERS_IN_TRIAL = 2

const pages = [
  { system: 'ours', kind: 'ours', name: 'ours' },
  { system: 'ai', kind: 'peer', name: 'AI SDK streamText and useChat' },
  { system: 'tanstack', kind: 'peer', name: 'TanStack chat() and useChat' },
  { system: 'mui', kind: 'peer', name: 'MUI hooks, plain server' },
  { system: 'plain', kind: 'floor', name: 'plain page, plain server' },
] as const satisfies { system: System; kind: Contender['kind']; name: string }[]

/** Reference contender of the tables. */
export const OURS = pages[0].name

/** Claims of ours against each peer: medians (`ratio`), and 99th percentiles (`tail`). */
export const peerClaims = (kinds: readonly ('ratio' | 'tail')[]): Claim[] =>
  pages
    .filter(({ kind }) => kind === 'peer')
    .flatMap(({ name }) => kinds.map((kind): Claim => ({ kind, of: OURS, to: name })))

/** Number of concurrent answers, ms between two tokens of one, and total number of messages mounted before. */
export interface ScreenLoad {
  readonly answers: number
  readonly paceMs: number
  readonly mounted: number
}

/** Contenders for one screen load, one per page, with `tokens` tokens per answer. */
export const pageContenders = (
  figure: ScreenFigure,
  tokens: number,
  warmUp: number,
  screenLoad: ScreenLoad,
): Contender[] =>
  pages.map(({ system, kind, name }) => ({
    name,
    kind,
    load: { pieces: 1, items: tokens },
    warmUp: { pieces: 1, items: warmUp },
    prepare: async (items, workIndex) => {
      const isTrial = items <= TRIAL
      const answers = isTrial ? Math.min(ANSWERS_IN_TRIAL, screenLoad.answers) : screenLoad.answers
      const paceMs = isTrial ? PACE_IN_TRIAL_MS : screenLoad.paceMs
      const messages = isTrial ? Math.min(TRIAL, screenLoad.mounted) : Math.floor(screenLoad.mounted / answers)
      const { measureScreen } = await import('../../contenders/screen/page.ts')
      return measureScreen(system, figure, { answers, messages, tokens: items, paceMs, workIndex })
    },
  }))

/** Notes that hold for all loads. */
export const NOTES = [
  'ours is an agent on SQLite, the default store, and appends each token to the log before sending it; the others store nothing',
  'MUI has no server: a plain server without a model sends its chunks',
  'the server, the browser and the measuring process are separate for every contender',
]
