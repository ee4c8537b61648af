// A program with everything that a driver can interrupt: text, parallel tools with progress and state, and an answer.
// It counts its calls.

import type { Timers } from '@millrace/log'
import { z } from 'zod'
import { sleep } from '../async/sleep.ts'
import { type Agent, agent, type ScriptedAnswer, scriptedModel, tool } from '../index.ts'

/** Calls of the program by key, outside of all processes. */
export class Calls {
  readonly models: string[] = []
  readonly tools: string[] = []
  /** Aborted calls. */
  readonly aborted: string[] = []
}

/** The answer of the program when undisturbed. */
export const FULL_ANSWER = 'Let me look at both. Ulm is warm and Bonn is not.'

const ANSWERS: readonly ScriptedAnswer[] = [
  {
    text: 'Let me look at both.',
    calls: [
      { name: 'look', input: { city: 'Ulm' }, id: 'c1' },
      { name: 'look', input: { city: 'Bonn' }, id: 'c2' },
    ],
  },
  { text: ' Ulm is warm and Bonn is not.' },
]

/** The program, with the timers of its process. */
export function program(timers: Timers, calls: Calls, name = 'helper'): Agent {
  const look = tool({
    name: 'look',
    inputSchema: z.object({ city: z.string() }),
    async *execute({ city }, context) {
      const { abortSignal, toolCallId } = context
      calls.tools.push(toolCallId)
      abortSignal.addEventListener('abort', () => calls.aborted.push(toolCallId))
      yield { city, degrees: 0 }
      await sleep(timers, 20, abortSignal)
      context.emit('seen', { city })
      context.updateState(state => ({ ...(state as object), [city]: true }))
      return { city, degrees: 21 }
    },
  })
  const model = scriptedModel(
    ({ answers, key, options }) => {
      calls.models.push(key)
      options.abortSignal?.addEventListener('abort', () => calls.aborted.push(key))
      return ANSWERS[answers] ?? { text: 'Again.' }
    },
    { paceMs: 10, timers },
  )
  return agent({ name, model, tools: [look], initialState: {} })
}
