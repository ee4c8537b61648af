import type { Event, EventType, Message, ResumeEntry, RunAgentInput } from '@ag-ui/core'
import { EventSchema, RunAgentInputSchema as TheirInputSchema } from '@ag-ui/core/schemas'
import type { AgUiEvent, AgUiMessage, AgUiResume } from '@millrace/dialects/ag-ui'
import { type RunAgentInput as OurInput, RunAgentInputSchema } from '@millrace/dialects/ag-ui/schemas'
import { expect, expectTypeOf, test } from 'vitest'

// Most assertions are types, which `npm run check` compiles.

type Loose<T> = T extends readonly (infer Item)[]
  ? readonly Loose<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: Loose<T[K]> }
    : T

type Theirs = { [E in Event as `${E['type']}`]: Loose<Omit<E, 'type'>> }
type Ours = { [E in AgUiEvent as E['type']]: Omit<E, 'type'> }

test('our events and those of AG-UI have the same types', () => {
  expectTypeOf<AgUiEvent['type']>().toEqualTypeOf<`${EventType}`>()
  expectTypeOf<Ours>().toExtend<Theirs>()
  // @ts-expect-error A call has a name.
  expectTypeOf<Omit<Ours, 'TOOL_CALL_START'> & { TOOL_CALL_START: { toolCallId: string } }>().toExtend<Theirs>()
  expectTypeOf<AgUiMessage>().toExtend<Loose<Message>>()
  expectTypeOf<ResumeEntry>().toExtend<AgUiResume>()
})

test('accepts every input of AG-UI’s client', () => {
  expectTypeOf<Pick<RunAgentInput, 'threadId' | 'runId' | 'parentRunId'>>().toExtend<
    Pick<OurInput, 'threadId' | 'runId' | 'parentRunId'>
  >()
  const url = { type: 'url', value: 'https://example.test/mill.png', mimeType: 'image/png' }
  const input = {
    threadId: 't',
    runId: 'r',
    state: null,
    messages: [
      {
        id: '1',
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image', source: url },
        ],
      },
      {
        id: '2',
        role: 'assistant',
        toolCalls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '' } }],
      },
      { id: '3', role: 'tool', toolCallId: 'c', content: 'done' },
      { id: '4', role: 'reasoning', content: 'Hm.' },
    ],
    tools: [{ name: 'f', description: 'Does.' }],
    context: [{ description: 'where', value: 'here' }],
    resume: [{ interruptId: 'i', status: 'cancelled' }],
  }
  expect(TheirInputSchema.safeParse(input).success).toBe(true)
  expect(RunAgentInputSchema.safeParse(input).error).toBeUndefined()
  expect(EventSchema.safeParse({ type: 'INTERRUPT' }).success).toBe(false)
})
