// Which parts of its own answers the model gets back in its next prompt. What readers see does not matter.

import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../../define/tool.ts'
import { recordingModel } from '../agent/run-to-end.fixture.ts'
import { answerInterrupt, runNode, textIn } from './reason.fixture.ts'
import { useReason } from './use-reason.ts'

const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'seen' })
const openai = (itemId: string) => ({ providerMetadata: { openai: { itemId } } })
const file = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } } as const
const parts: LanguageModelV4StreamPart[] = [
  { type: 'reasoning-start', id: 'q', ...openai('rs_1') },
  { type: 'reasoning-delta', id: 'q', delta: 'I think.' },
  { type: 'reasoning-end', id: 'q', ...openai('rs_1') },
  { type: 'text-start', id: 'w' },
  { type: 'text-delta', id: 'w', delta: 'Let me look.' },
  { type: 'text-end', id: 'w' },
  file,
  { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}', ...openai('fc_1') },
]
const returnedParts = [
  { type: 'reasoning', text: 'I think.', providerOptions: { openai: { itemId: 'rs_1' } } },
  file,
  { type: 'text', text: '[file image/png]' },
  { type: 'text', text: 'Let me look.' },
  { type: 'tool-call', toolName: 'look', providerOptions: { openai: { itemId: 'fc_1' } } },
]
const outputSchema = z.object({ a: z.string() })
const FITTING = '{"a":"x"}'
const byType = (content: unknown) =>
  [...(content as { type: string; text?: string }[])].sort((a, b) =>
    JSON.stringify([a.type, a.text]) < JSON.stringify([b.type, b.text]) ? -1 : 1,
  )

test.each([
  ['text', {}],
  ['an object', { outputSchema }],
  ['an object, with hidden thoughts', { outputSchema, reasoning: { includeThoughts: false } }],
  ['an object, with nothing shown', { outputSchema, emit: false }],
])('sends the thoughts, files and text next to calls back to the model, for %s', async (_, options) => {
  const { model, modelCalls } = recordingModel(({ turnAnswers }) => (turnAnswers === 0 ? { parts } : { text: FITTING }))
  const { log } = await runNode(() => useReason({ model, input: 'x', tools: [look], ...options }))
  const messages = modelCalls[1]?.prompt.filter(({ role }) => role !== 'system') ?? []
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  expect(byType(messages[1]?.content)).toMatchObject(byType(returnedParts))
  expect(textIn(log)).toBe('outputSchema' in options ? '' : `Let me look.${FITTING}`)
})

test.each([
  ['text', {}, JSON.stringify({ draftText: 'Perhaps.' })],
  ['an object', { outputSchema }, JSON.stringify({ output: { a: 'd' } })],
  ['an object, with hidden thoughts', { outputSchema, reasoning: { includeThoughts: false } }, '{"output":{"a":"d"}}'],
])(
  'sends the messages of both passes without the text and thoughts of the draft, for %s',
  async (_, options, draft) => {
    const interruptRequest = { kind: 'text', question: 'Why?' }
    const first = JSON.stringify({ ...JSON.parse(draft), interruptRequest })
    const drafted: LanguageModelV4StreamPart[] = [
      { type: 'reasoning-start', id: 'r', ...openai('rs_2') },
      { type: 'reasoning-end', id: 'r' },
      { ...file, mediaType: 'image/gif' },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: first },
      { type: 'text-end', id: 't' },
    ]
    const again = parts.map(part => (part.type === 'tool-call' ? { ...part, toolCallId: 'd' } : part))
    const { model, modelCalls } = recordingModel(({ options: { prompt } }) => {
      const isAnswered = JSON.stringify(prompt).includes('The person answered')
      const results = prompt.filter(({ role }) => role === 'tool').length
      if (isAnswered) return results === 1 ? { parts: again } : { text: FITTING }
      return { parts: results === 0 ? parts : drafted }
    })
    const paused = await runNode(() =>
      useReason({
        model,
        input: 'x',
        tools: [look],
        interrupt: { requestSchema: z.object({ kind: z.literal('text'), question: z.string() }) },
        ...options,
      }),
    )
    const { log, result } = await answerInterrupt(paused, 'because')
    expect(result.status).toBe('completed')
    expect(modelCalls).toHaveLength(4)
    const [called, looked, wrote, person, calledAgain] = (modelCalls[3]?.prompt ?? [])
      .filter(({ role }) => role !== 'system')
      .slice(1)
    expect(byType(called?.content)).toMatchObject(byType(returnedParts))
    expect(looked?.role).toBe('tool')
    expect(wrote?.content).toMatchObject([
      { type: 'file', mediaType: 'image/gif' },
      { text: '[file image/gif]' },
      { text: first },
    ])
    expect(person?.role).toBe('user')
    expect(byType(calledAgain?.content)).toMatchObject(byType(returnedParts))
    expect(textIn(log)).toBe('')
  },
)
