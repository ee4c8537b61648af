// Agents for schedules of faults. They write all kinds of content, a few letters at a time. Their output depends only on
// the prompt and the attempt.
import {
  agent,
  ProviderError,
  type Schema,
  type ScriptedAnswer,
  type ScriptedPrompt,
  scriptedModel,
  tool,
} from '../../../packages/runtime/src/index.ts'

/** A long text without equal pieces, so that a repeated or missing piece shows. */
export const longText = (sentence: string): string =>
  Array.from({ length: 6 }, (_, n) => `${sentence} (${n})`).join(' ')

/** Accepts every value. The workspace's root has no schema library. */
const unchecked = <T>(): Schema<T> => ({
  '~standard': { version: 1, vendor: 'millrace-schedules', validate: value => ({ value: value as T }) },
})

const attemptOf = ({ options }: ScriptedPrompt): number => Number(options.providerOptions?.['millrace']?.['attempt'])

type Weighed = { readonly weighed?: Readonly<Record<string, number>> }

interface AgentOptions {
  /** Pause between two pieces of a model's answer, in ms. */
  readonly paceMs: number
  /** Maximum number of failed attempts of the agent `flaky`. Its first attempt always fails. With 2, the second one fails too if the prompt's length is odd. */
  readonly maxFailures: 1 | 2
}

export function scriptedAgents({ paceMs, maxFailures }: AgentOptions) {
  const shouldFail = (prompt: ScriptedPrompt) =>
    attemptOf(prompt) <= Math.min(maxFailures, 1 + (prompt.lastText.length % 2))
  const model = (script: (prompt: ScriptedPrompt) => ScriptedAnswer) => scriptedModel(script, { paceMs })

  const weigh = tool({
    name: 'weigh',
    inputSchema: unchecked<{ what: string; turns: number }>(),
    jsonSchema: { type: 'object' },
    async *execute({ what, turns }, context) {
      for (let turn = 1; turn <= turns; turn++) {
        await new Promise(done => setTimeout(done, paceMs))
        context.emit('scale', { what, turn }, { id: 'scale' })
        context.emit('creak', { what, turn }, { transient: true })
        yield { what, kilos: turn, isFinal: false }
      }
      context.updateState(state => {
        const { weighed = {}, ...rest } = (state ?? {}) as Weighed
        return { ...rest, weighed: { ...weighed, [what]: turns } }
      })
      return { what, kilos: turns, isFinal: true }
    },
  })

  const sell = tool({
    name: 'sell',
    inputSchema: unchecked<{ what: string }>(),
    jsonSchema: { type: 'object' },
    approval: true,
    execute: ({ what }) => `sold ${what}`,
  })

  /** Writes reasoning and text. */
  const teller = agent({
    name: 'teller',
    model: model(({ lastText }) => ({
      reasoning: longText('What is to be told?'),
      text: longText(`You said “${lastText}”, and the mill went on.`),
    })),
  })

  /** Calls two tools at once, which report progress, emit data and update the state. */
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
        : { text: longText('Rye is heavier than oats.') },
    ),
    tools: [weigh],
    initialState: {},
    parallelCalls: 2,
  })

  /** Fails in the middle of its answer, with a started call, and writes a complete answer on retry. */
  const flaky = agent({
    name: 'flaky',
    model: model(prompt =>
      shouldFail(prompt)
        ? {
            text: longText('The race is, I mean, the wheel'),
            parts: [
              { type: 'tool-input-start', id: `${prompt.key}-lost`, toolName: 'weigh' },
              { type: 'tool-input-delta', id: `${prompt.key}-lost`, delta: '{"what":' },
            ],
            error: new ProviderError('provider_overloaded', 'overloaded', { retryable: true }),
          }
        : { text: longText('The wheel turns.') },
    ),
    tools: [weigh],
  })

  /** Calls a tool that needs an approval. */
  const seller = agent({
    name: 'seller',
    model: model(({ turnAnswers, key }) =>
      turnAnswers === 0
        ? { text: 'May I sell the flour?', calls: [{ name: 'sell', input: { what: 'flour' }, id: `${key}-flour` }] }
        : { text: longText('So much for the flour.') },
    ),
    tools: [sell],
  })

  return { model, teller, weigher, flaky, seller }
}
