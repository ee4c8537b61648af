// The agents of the schedules: all that a session can hold, a few letters at a time. What happens depends on nothing but the prompt and the attempt.

import {
  type Agent,
  agent,
  ProviderError,
  type ScriptedAnswer,
  type ScriptedPrompt,
  scriptedModel,
  tool,
} from '@millrace/runtime'
import { z } from 'zod'

/** From piece to piece, in milliseconds. */
const PACE_MS = 1

const model = (script: (prompt: ScriptedPrompt) => ScriptedAnswer) => scriptedModel(script, { paceMs: PACE_MS })

const attemptOf = ({ options }: ScriptedPrompt): number => Number(options.providerOptions?.['millrace']?.['attempt'])

/** Long, and no two pieces of it are the same, so that nothing doubled or left out looks right. */
const story = (words: string) => Array.from({ length: 6 }, (_, n) => `${words} (${n})`).join(' ')

const weigh = tool({
  name: 'weigh',
  input: z.object({ what: z.string(), turns: z.number() }),
  async *execute({ what, turns }, context) {
    for (let turn = 1; turn <= turns; turn++) {
      await new Promise(done => setTimeout(done, PACE_MS))
      context.emit('scale', { what, turn }, { id: 'scale' })
      context.emit('creak', { what, turn }, { transient: true })
      yield { what, kilos: turn }
    }
    context.updateState(state => ({ ...(state as object | undefined), [what]: turns }))
    return { what, kilos: turns }
  },
})

const sell = tool({
  name: 'sell',
  input: z.object({ what: z.string() }),
  approval: true,
  execute: ({ what }) => `sold ${what}`,
})

const locate = tool({
  name: 'locate',
  input: z.object({ precise: z.boolean() }),
  output: z.object({ city: z.string() }),
  client: true,
})

/** Thinks and tells. */
const teller = agent({
  name: 'teller',
  model: model(({ lastText }) => ({
    reasoning: story('What is to be told?'),
    text: story(`You said “${lastText}”, and the mill went on.`),
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
      : { text: story('Rye is heavier than oats.') },
  ),
  tools: [weigh],
  initialState: {},
  parallelCalls: 2,
})

/** Breaks off in the middle of its answer, with a call begun, and says all of it when it is asked again. */
const stammerer = agent({
  name: 'stammerer',
  model: model(prompt =>
    attemptOf(prompt) === 1
      ? {
          text: story('The race is, I mean, the wheel'),
          parts: [
            { type: 'tool-input-start', id: `${prompt.key}-lost`, toolName: 'weigh' },
            { type: 'tool-input-delta', id: `${prompt.key}-lost`, delta: '{"what":' },
          ],
          error: new ProviderError('provider_overloaded', 'overloaded', { retryable: true }),
        }
      : { text: story('The wheel turns.') },
  ),
  tools: [weigh],
})

/** Asks before it sells. */
const seller = agent({
  name: 'seller',
  model: model(({ turnAnswers, key }) =>
    turnAnswers === 0
      ? { text: 'May I sell the flour?', calls: [{ name: 'sell', input: { what: 'flour' }, id: `${key}-flour` }] }
      : { text: story('So much for the flour.') },
  ),
  tools: [sell],
})

/** Asks a client where it is. */
const guide = agent({
  name: 'guide',
  model: model(({ turnAnswers, key }) =>
    turnAnswers === 0
      ? { text: 'Where are you?', calls: [{ name: 'locate', input: { precise: false }, id: `${key}-place` }] }
      : { text: story('Now I know where you are.') },
  ),
  tools: [locate],
})

const INVENTORY = {
  title: 'What there is in the mill',
  rows: Array.from({ length: 6 }, (_, n) => ({ name: `sack ${n}`, kilos: n })),
}

/** Makes an object, a few letters at a time. */
const lister = agent({
  name: 'lister',
  model: model(() => ({ text: JSON.stringify(INVENTORY), pieceLength: 6 })),
  output: z.object({ title: z.string(), rows: z.array(z.object({ name: z.string(), kilos: z.number() })) }),
})

export const AGENTS: readonly Agent[] = [teller, weigher, stammerer, seller, guide, lister]
export const NAMES = ['teller', 'teller', 'weigher', 'stammerer', 'seller', 'guide', 'lister'] as const
