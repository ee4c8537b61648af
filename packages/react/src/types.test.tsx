// What the hooks know of a server by its type alone: checked by tsc, wherever the tests are.

import { agent, scriptedModel, tool } from '@millrace/runtime'
import { millrace } from '@millrace/server'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { ChatProvider, useAgentState, useChat, useMessage, usePart } from './index.ts'

const locate = tool({
  name: 'locate',
  input: z.object({ precise: z.boolean() }),
  output: z.object({ city: z.string() }),
  client: true,
})
const app = millrace({ agents: [agent({ name: 'guide', model: scriptedModel([]), tools: [locate] })] })
type App = typeof app

test('a provider of an app takes its agents and its tools alone', () => {
  const right = () => (
    <ChatProvider<App>
      agent="guide"
      tools={{ locate: ({ precise }) => ({ city: precise ? 'Ulm, at the mill' : 'Ulm' }) }}
      onToolCall={({ toolCall }) => toolCall.toolName === 'locate' && toolCall.input?.precise}
      onFinish={({ message }) => message?.parts}
    />
  )
  // @ts-expect-error there is no such agent
  const unknown = () => <ChatProvider<App> agent="guard" />
  // @ts-expect-error a city is text
  const wrong = () => <ChatProvider<App> agent="guide" tools={{ locate: () => ({ city: 5 }) }} />
  expectTypeOf([right, unknown, wrong]).toBeArray()
})

function Shown() {
  const parts = [...(useMessage<App>('m')?.parts ?? []), ...useChat<App>().messages.flatMap(({ parts }) => parts)]
  const one = usePart<App>('m', 'k')
  for (const part of one ? [...parts, one] : parts) {
    if ('toolName' in part && part.toolName === 'locate' && part.state === 'output-available') {
      expectTypeOf(part.output?.city).toEqualTypeOf<string | undefined>()
    }
  }
  return useAgentState<{ mood: string }>()?.mood
}

test('the hooks of an app know what calls carry', () => {
  expectTypeOf(Shown).returns.toEqualTypeOf<string | undefined>()
})
