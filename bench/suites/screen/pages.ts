import type { ScreenAsked } from '../../contenders/screen/page.ts'
import type { Whose } from '../../contenders/screen/served.ts'
import type { Claim, Contender } from '../../harness/suite.ts'

/** How many tokens of an answer a test tries, and no measurement: they come faster, and there is less beside them. */
export const TRIAL = 10
const PACE_IN_TRIAL_MS = 2
const ANSWERS_IN_TRIAL = 2

const pages = [
  { whose: 'ours', kind: 'ours', name: 'ours' },
  { whose: 'ai', kind: 'peer', name: 'AI SDK streamText and useChat' },
  { whose: 'tanstack', kind: 'peer', name: 'TanStack chat() and useChat' },
  { whose: 'mui', kind: 'peer', name: 'MUI hooks, plain server' },
  { whose: 'plain', kind: 'floor', name: 'plain page, plain server' },
] as const satisfies { whose: Whose; kind: Contender['kind']; name: string }[]

/** Who stands over the others in the tables. */
export const OURS = pages[0].name

/** Ours beside each peer: the middle, and, where each item is a figure of its own, what one in a hundred exceeds. */
export const beside = (kinds: readonly ('ratio' | 'tail')[]): Claim[] =>
  pages
    .filter(({ kind }) => kind === 'peer')
    .flatMap(({ name }) => kinds.map((kind): Claim => ({ kind, of: OURS, to: name })))

/** Answers at once, the milliseconds between two tokens of one, and how many messages are mounted before, all together. */
export interface Scene {
  readonly answers: number
  readonly paceMs: number
  readonly mounted: number
}

/** The same scene on the page of each, with so many tokens an answer. */
export const onPages = (asked: ScreenAsked, tokens: number, warmUp: number, scene: Scene): Contender[] =>
  pages.map(({ whose, kind, name }) => ({
    name,
    kind,
    load: { pieces: 1, items: tokens },
    warmUp: { pieces: 1, items: warmUp },
    prepare: async (items, piece) => {
      const isTrial = items <= TRIAL
      const answers = isTrial ? Math.min(ANSWERS_IN_TRIAL, scene.answers) : scene.answers
      const paceMs = isTrial ? PACE_IN_TRIAL_MS : scene.paceMs
      const messages = isTrial ? Math.min(TRIAL, scene.mounted) : Math.floor(scene.mounted / answers)
      const { screen } = await import('../../contenders/screen/page.ts')
      return screen(whose, asked, { answers, messages, tokens: items, paceMs, piece })
    },
  }))

/** What is the same in all scenes. */
export const NOTES = [
  'ours is an agent on a file of SQLite, which is its store if nothing is said, and each token is in the log before it is sent; the others keep nothing',
  'MUI has no server: it is sent its chunks by a plain one, which has no model to read from',
  'the server, the browser and who measures are processes of their own, for all',
]
