// The agents of the schedules: all that a session can hold, a word at a time. What happens depends on nothing but the prompt and the attempt.

import {
  type Agent,
  agent,
  ProviderError,
  type ScriptedAnswer,
  type ScriptedPrompt,
  scriptedModel,
  subAgent,
  tool,
} from '@millrace/runtime'
import { z } from 'zod'

/** What only the server and its workers know of a session: it stands in its context, which is internal (law 10). */
export const SECRET = 'the-key-lies-under-the-stone'

/** From word to word, in milliseconds. */
const PACE_MS = 2

const model = (script: (prompt: ScriptedPrompt) => ScriptedAnswer) => scriptedModel(script, { paceMs: PACE_MS })

const attemptOf = ({ options }: ScriptedPrompt): number => Number(options.providerOptions?.['millrace']?.['attempt'])

const turnOf = (words: string) => `${words} `.repeat(8).trim()

interface Tally {
  readonly weighed?: Readonly<Record<string, number>>
}

const weigh = tool({
  name: 'weigh',
  input: z.object({ what: z.string(), turns: z.number() }),
  async *execute({ what, turns }, context) {
    for (let turn = 1; turn <= turns; turn++) {
      await new Promise(done => setTimeout(done, PACE_MS))
      context.emit('scale', { what, turn }, { id: 'scale' })
      context.emit('creak', { what, turn }, { transient: true })
      yield { what, kilos: turn, isFinal: false }
    }
    context.updateState(state => {
      const { weighed = {}, ...rest } = (state ?? {}) as Tally
      return { ...rest, weighed: { ...weighed, [what]: turns } }
    })
    return { what, kilos: turns, isFinal: true }
  },
})

const sell = tool({
  name: 'sell',
  input: z.object({ what: z.string() }),
  approval: true,
  execute: ({ what }) => `sold ${what}`,
})

/** Thinks and tells. */
const teller = agent({
  name: 'teller',
  model: model(({ lastText }) => ({
    reasoning: turnOf('What is to be told?'),
    text: turnOf(`You said “${lastText}” and the mill went on.`),
  })),
})

/** Weighs two sacks at once, and leaves what it found in the state. */
const weigher = agent({
  name: 'weigher',
  model: model(({ turnAnswers, key }) =>
    turnAnswers === 0
      ? {
          text: 'I weigh both sacks.',
          calls: [
            { name: 'weigh', input: { what: 'rye', turns: 4 }, id: `${key}-rye` },
            { name: 'weigh', input: { what: 'oats', turns: 3 }, id: `${key}-oats` },
          ],
        }
      : { text: turnOf('Rye is heavier than oats.') },
  ),
  tools: [weigh],
  initialState: {},
  parallelCalls: 2,
})

/** Breaks off in the middle of its answer, with a call begun, and says all of it when it is asked again. */
const stammerer = agent({
  name: 'stammerer',
  model: model(prompt =>
    attemptOf(prompt) === 1 || prompt.lastText.length % 2 > attemptOf(prompt) - 2
      ? {
          text: turnOf('The race is, I mean, the wheel'),
          parts: [
            { type: 'tool-input-start', id: `${prompt.key}-lost`, toolName: 'weigh' },
            { type: 'tool-input-delta', id: `${prompt.key}-lost`, delta: '{"what":' },
          ],
          error: new ProviderError('provider_overloaded', 'overloaded', { retryable: true }),
        }
      : { text: turnOf('The wheel turns.') },
  ),
  tools: [weigh],
})

/** Asks before it sells. */
const seller = agent({
  name: 'seller',
  model: model(({ turnAnswers, key }) =>
    turnAnswers === 0
      ? { text: 'May I sell the flour?', calls: [{ name: 'sell', input: { what: 'flour' }, id: `${key}-flour` }] }
      : { text: turnOf('So much for the flour.') },
  ),
  tools: [sell],
})

/** Lets two others work side by side. */
const miller = agent({
  name: 'miller',
  model: model(({ turnAnswers, key }) =>
    turnAnswers === 0
      ? {
          reasoning: 'Others can do this.',
          calls: [
            { name: 'weigher', input: { prompt: 'Weigh the sacks.' }, id: `${key}-a` },
            { name: 'stammerer', input: { prompt: 'Look at the wheel.' }, id: `${key}-b` },
          ],
        }
      : { text: turnOf('All is done.') },
  ),
  subAgents: [subAgent(weigher, { description: 'Weighs' }), subAgent(stammerer, { description: 'Looks' })],
  initialState: {},
  parallelCalls: 2,
})

export const AGENTS: readonly Agent[] = [teller, weigher, stammerer, seller, miller]
export const NAMES = ['teller', 'weigher', 'stammerer', 'seller', 'miller'] as const
