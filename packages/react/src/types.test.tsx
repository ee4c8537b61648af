// Types that hooks infer from the type of a server. Checked by tsc.

import { agent, scriptedModel, tool } from '@millrace/runtime'
import { millrace } from '@millrace/server'
import type { Dispatch, SetStateAction } from 'react'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type Chat,
  type ChatAdapter,
  type ChatMessage,
  ChatProvider,
  type Message,
  type PendingHook,
  type Snapshot,
  useAgentState,
  useChat,
  useMessage,
  usePart,
  usePending,
} from './index.ts'

const locate = tool({
  name: 'locate',
  inputSchema: z.object({ precise: z.boolean() }),
  outputSchema: z.object({ city: z.string() }),
  client: true,
})
const app = millrace({ agents: [agent({ name: 'guide', model: scriptedModel([]), tools: [locate] })] })
type App = typeof app

test('accepts only the agents and tools of the app', () => {
  const right = () => (
    <ChatProvider<App>
      agent="guide"
      tools={{ locate: ({ precise }) => ({ city: precise ? 'Ulm, at the mill' : 'Ulm' }) }}
      onToolCall={({ toolCall }) => toolCall.toolName === 'locate' && toolCall.input?.precise}
      onFinish={({ message }) => message?.parts}
    />
  )
  // @ts-expect-error unknown agent
  const unknown = () => <ChatProvider<App> agent="guard" />
  // @ts-expect-error city is a string
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

test('types the tool calls of the app', () => {
  expectTypeOf(Shown).returns.toEqualTypeOf<string | undefined>()
})

declare const adapter: ChatAdapter
declare const maybe: ChatAdapter | undefined
declare const chat: Chat
declare const snapshot: Snapshot
declare const kept: ChatMessage[]
declare const messages: readonly Message[]
declare const keep: Dispatch<SetStateAction<ChatMessage[]>>

test('accepts only props that belong together', () => {
  const right = () => [
    <ChatProvider key="1" adapter={adapter} messages={kept} onMessagesChange={keep} />,
    <ChatProvider key="2" adapter={adapter} onMessagesChange={messages => keep(messages)} />,
    <ChatProvider key="3" agent="a" snapshot={snapshot} messages={messages} onMessagesChange={([one]) => one?.at} />,
    <ChatProvider key="4" chat={chat} messages={messages} />,
    <ChatProvider key="5" workflow="w" session="s" />,
    <ChatProvider key="6" {...(chat ? { chat } : { session: 's' })} />,
  ]
  const wrong = () => [
    // @ts-expect-error it may be undefined
    <ChatProvider key="1" adapter={maybe} />,
    // @ts-expect-error an adapter has no agent
    <ChatProvider key="2" adapter={adapter} agent="a" />,
    // @ts-expect-error an adapter has no sessions
    <ChatProvider key="3" adapter={adapter} session="s" />,
    // @ts-expect-error an adapter has no client tools
    <ChatProvider key="4" adapter={adapter} tools={{}} />,
    // @ts-expect-error an adapter has no data, page size or snapshot
    <ChatProvider key="5" adapter={adapter} data={1} pageSize={5} snapshot={snapshot} />,
    // @ts-expect-error agent and workflow exclude each other
    <ChatProvider key="6" agent="a" workflow="w" />,
    // @ts-expect-error a server has no initial messages
    <ChatProvider key="7" agent="a" initialMessages={kept} />,
    // @ts-expect-error only an adapter has a conversation id
    <ChatProvider key="8" agent="a" conversationId="c" />,
    // @ts-expect-error the owner of a chat sets its callbacks
    <ChatProvider key="9" chat={chat} onFinish={() => {}} />,
    // @ts-expect-error an existing chat has its own session
    <ChatProvider key="10" chat={chat} session="s" />,
  ]
  expectTypeOf([right, wrong]).toBeArray()
  expectTypeOf(usePending<'approval'>).returns.toEqualTypeOf<PendingHook<'approval'>>()
})
