import type { ScreenAsked } from '../contenders/screen/page.ts'
import type { Whose } from '../contenders/screen/served.ts'
import type { Benchmark, Claim, Contender, Suite } from '../harness/suite.ts'

/** How many tokens of an answer a test tries, and no measurement: they come faster, and there is less beside them. */
const TRIAL = 10
const PACE_IN_TRIAL_MS = 2
const ANSWERS_IN_TRIAL = 2

const pages = [
  { whose: 'ours', name: 'ours, SQLite' },
  { whose: 'ours-memory', name: 'ours, memory' },
  { whose: 'ai', name: 'AI SDK streamText and useChat' },
  { whose: 'tanstack', name: 'TanStack chat and useChat' },
  { whose: 'mui', name: 'MUI hooks, plain SSE' },
] as const satisfies { whose: Whose; name: string }[]

const ours = pages[0].name
const peers = pages.filter(({ whose }) => !whose.startsWith('ours')).map(({ name }) => name)

/** Answers at once, the milliseconds between two tokens of one, and all messages that are mounted before. */
interface Scene {
  readonly answers: number
  readonly paceMs: number
  readonly mounted: number
}

const contenders = (asked: ScreenAsked, tokens: number, scene: Scene): Contender[] =>
  pages.map(({ whose, name }) => ({
    name,
    kind: whose.startsWith('ours') ? 'ours' : 'peer',
    load: { pieces: 1, items: tokens },
    warmUp: { pieces: 1, items: Math.ceil(tokens / 4) },
    prepare: async (items, piece) => {
      const isTrial = items <= TRIAL
      const answers = isTrial ? Math.min(ANSWERS_IN_TRIAL, scene.answers) : scene.answers
      const paceMs = isTrial ? PACE_IN_TRIAL_MS : scene.paceMs
      const messages = isTrial ? Math.min(TRIAL, scene.mounted) : Math.floor(scene.mounted / answers)
      const { screen } = await import('../contenders/screen/page.ts')
      return screen(whose, asked, { answers, messages, tokens: items, paceMs, piece })
    },
  }))

/** One answer, from each token that the model says to the frame that shows it. */
function tokens(rate: number, count: number, quick: boolean): Benchmark {
  return {
    name: `tokens-${rate}`,
    title: `from the model’s token to the frame that shows it, ${rate.toLocaleString('en')} tokens a second`,
    item: 'token',
    unit: 'latency',
    reference: ours,
    rounds: quick ? 1 : 3,
    trial: TRIAL,
    contenders: contenders('latency', count, { answers: 1, paceMs: 1000 / rate, mounted: 0 }),
    claims: peers.flatMap((to): Claim[] => [
      { kind: 'ratio', of: ours, to },
      { kind: 'tail', of: ours, to },
    ]),
  }
}

/** What it takes to carry a model's tokens to the screen. */
export const screen: Suite = {
  name: 'screen',
  benchmarks: quick => [
    tokens(50, quick ? 50 : 200, quick),
    tokens(500, quick ? 500 : 1500, quick),
    tokens(5000, quick ? 2500 : 10_000, quick),
  ],
}
