// What clients infer from the type of an app, checked by tsc.

import type { Json } from '@millrace/protocol'
import { describe, expectTypeOf, test } from 'vitest'
import type { app, echo, open, Weather } from './app.fixture.ts'
import type {
  AgentName,
  AppWith,
  ChatData,
  ChatDataOf,
  ClientTools,
  ClientToolsOf,
  Message,
  MessageOf,
  Part,
  PartOf,
  StateOf,
  StructuredObject,
  StructuredOf,
  ToolInput,
  ToolName,
  ToolOutput,
  WorkflowName,
} from './browser.ts'

type App = typeof app
type Open = typeof open

describe('the type of an app', () => {
  test('contains the names of its agents, workflows and tools, including called ones', () => {
    expectTypeOf<AgentName<App>>().toEqualTypeOf<'helper' | 'plain'>()
    expectTypeOf<WorkflowName<App>>().toEqualTypeOf<'review'>()
    expectTypeOf<ToolName<App>>().toEqualTypeOf<
      'weather' | 'wait' | 'clock' | 'locate' | 'search' | 'writer' | 'expert' | 'choose' | 'check'
    >()
    // @ts-expect-error no agent of that name
    const _agent: AgentName<App> = 'writer'
    // @ts-expect-error no tool of that name
    type _Input = ToolInput<App, 'whether'>
  })

  test('contains the input and output types of tool calls, as the log stores them', () => {
    expectTypeOf<ToolInput<App, 'weather'>>().toEqualTypeOf<{
      city: string
      unit: 'celsius' | 'fahrenheit'
      days: string
    }>()
    expectTypeOf<ToolOutput<App, 'weather'>>().toEqualTypeOf<{ degrees: number; at: string }>()
    expectTypeOf<ToolInput<App, 'locate'>>().toEqualTypeOf<{ precise?: boolean | undefined }>()
    expectTypeOf<ToolOutput<App, 'choose'>>().toEqualTypeOf<Json>()
    expectTypeOf<ToolOutput<App, 'search'>>().toEqualTypeOf<Json>()
    expectTypeOf<ToolOutput<App, 'check'>>().toEqualTypeOf<boolean>()
    expectTypeOf<[ToolOutput<App, 'clock'>, ToolOutput<App, 'wait'>]>().toEqualTypeOf<[null, null]>()
    // A call of another agent: its prompt, and its output or text.
    expectTypeOf<ToolInput<App, 'writer'>>().toEqualTypeOf<{ readonly prompt: string }>()
    expectTypeOf<ToolOutput<App, 'writer'>>().toEqualTypeOf<{ title: string; lines: string[] }>()
    expectTypeOf<ToolInput<App, 'expert'>>().toEqualTypeOf<{ text: string; to: string }>()
    expectTypeOf<ToolOutput<App, 'expert'>>().toEqualTypeOf<string>()
  })

  test('contains the client tools and their input types', () => {
    type Handlers = ClientToolsOf<App>
    expectTypeOf<keyof Handlers>().toEqualTypeOf<'locate' | 'choose'>()
    const handlers: Handlers = {
      locate: async (input, { signal }) => {
        expectTypeOf(input).toEqualTypeOf<{ precise?: boolean | undefined }>()
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
        return { latitude: 1, longitude: 2 }
      },
      choose: ({ among }) => among[0] ?? null,
    }
    expectTypeOf(handlers).toExtend<ClientTools>()
    const take = (_some: Handlers) => {}
    // @ts-expect-error it is given an object
    take({ locate: (input: string) => ({ latitude: input.length, longitude: 0 }) })
    // @ts-expect-error where, and not how far
    take({ locate: () => ({ distance: 1 }) })
    // @ts-expect-error the server runs it
    take({ weather: () => 1 })
    take({ choose: () => 1 })
  })

  test('contains the shared state, as the log stores it', () => {
    expectTypeOf<StateOf<App>>().toEqualTypeOf<{ lines: string[]; since?: string | undefined } | undefined>()
  })

  test('contains parts, discriminated by type, tool name and call state', () => {
    const show = (part: PartOf<App>) => {
      switch (part.type) {
        case 'text':
          return expectTypeOf(part.text).toEqualTypeOf<string>()
        case 'file':
          return expectTypeOf(part.url).toEqualTypeOf<string>()
        case 'data-weather':
          return expectTypeOf(part.data).toEqualTypeOf<Weather>()
        case 'data-seen':
          return expectTypeOf(part.data).toEqualTypeOf<{ at: string }>()
        case 'tool':
        case 'dynamic-tool':
          return call(part)
      }
    }
    const call = (part: Extract<PartOf<App>, { toolCallId: string }>) => {
      if (part.toolName === 'weather') {
        expectTypeOf(part.output?.degrees).toEqualTypeOf<number | undefined>()
        // A partial input: the beginning of a text.
        expectTypeOf(part.input?.unit).toEqualTypeOf<string | undefined>()
        if (part.state === 'input-available') {
          expectTypeOf(part.input?.unit).toEqualTypeOf<'celsius' | 'fahrenheit' | undefined>()
        }
        // @ts-expect-error no such field
        return part.output?.temperature
      }
      if (part.toolName === 'writer') return expectTypeOf(part.output?.lines).toEqualTypeOf<string[] | undefined>()
      // @ts-expect-error no such tool
      if (part.toolName === 'whether') return undefined
      switch (part.toolName) {
        case 'clock':
        case 'wait':
        case 'locate':
        case 'search':
        case 'expert':
        case 'choose':
        case 'check':
          return expectTypeOf(part.toolCallId).toEqualTypeOf<string>()
        default:
          // A tool that the app does not name, such as one of an MCP server.
          expectTypeOf(part.toolName).toExtend<string>()
          expectTypeOf(part.output).toEqualTypeOf<Json | undefined>()
      }
      return undefined
    }
    expectTypeOf(show).toBeFunction()
    expectTypeOf<MessageOf<App>['parts'][number]>().toEqualTypeOf<PartOf<App>>()
    expectTypeOf<Omit<MessageOf<App>, 'parts'>>().toEqualTypeOf<Omit<Message, 'parts'>>()
  })

  test('contains the data types that tools declare', () => {
    const onData = (data: ChatDataOf<App>) => {
      if (data.type === 'data-weather') return expectTypeOf(data.data.degrees).toEqualTypeOf<number>()
      if (data.type === 'data-seen') return expectTypeOf(data.data).toEqualTypeOf<{ at: string }>()
      expectTypeOf(data.transient).toEqualTypeOf<boolean | undefined>()
      return expectTypeOf(data.data).toEqualTypeOf<Json>()
    }
    expectTypeOf(onData).toBeFunction()
  })

  test('contains the partial output of its agents', () => {
    const show = (object: StructuredOf<App>) => {
      // Agents without an output schema have none.
      // @ts-expect-error no such objects
      if (object.dataType === 'checker') return undefined
      if (object.dataType !== 'writer') return expectTypeOf(object.data).toEqualTypeOf<Json>()
      expectTypeOf(object.data.title).toEqualTypeOf<string | undefined>()
      if (object.status === 'done') expectTypeOf(object.data).toEqualTypeOf<{ title: string; lines: string[] }>()
      return undefined
    }
    expectTypeOf(show).toBeFunction()
  })
})

test('accepts declared types that the compiler cannot infer', () => {
  type More = AppWith<
    App,
    {
      tools: { rate: { input: { stars: 1 | 2 }; output: null; client: true } }
      structured: { draft: { body: string } }
    }
  >
  expectTypeOf<AgentName<More>>().toEqualTypeOf<AgentName<App>>()
  expectTypeOf<StateOf<More>>().toEqualTypeOf<StateOf<App>>()
  expectTypeOf<ToolOutput<More, 'weather'>>().toEqualTypeOf<ToolOutput<App, 'weather'>>()
  expectTypeOf<keyof ClientToolsOf<More>>().toEqualTypeOf<'locate' | 'choose' | 'rate'>()
  expectTypeOf<Extract<StructuredOf<More>, { dataType: 'draft'; status: 'done' }>['data']>().toEqualTypeOf<{
    body: string
  }>()
})

test('allows everything without types', () => {
  expectTypeOf<AgentName<Open>>().toEqualTypeOf<string>()
  expectTypeOf<WorkflowName<Open>>().toEqualTypeOf<never>()
  expectTypeOf<AgentName<typeof echo>>().toEqualTypeOf<'echo'>()
  expectTypeOf<MessageOf<typeof echo>>().toEqualTypeOf<Message>()
  expectTypeOf<StructuredOf<typeof echo>>().toEqualTypeOf<StructuredObject>()
  expectTypeOf<[AgentName, WorkflowName, ToolName]>().toEqualTypeOf<[string, string, string]>()
  expectTypeOf<[ClientToolsOf, ClientToolsOf<Open>]>().toEqualTypeOf<[ClientTools, ClientTools]>()
  expectTypeOf<[PartOf, PartOf<Open>]>().toEqualTypeOf<[Part, Part]>()
  expectTypeOf<[MessageOf, MessageOf<Open>]>().toEqualTypeOf<[Message, Message]>()
  expectTypeOf<[ChatDataOf, ChatDataOf<Open>]>().toEqualTypeOf<[ChatData, ChatData]>()
  expectTypeOf<[StateOf, StateOf<Open>]>().toEqualTypeOf<[Json | undefined, Json | undefined]>()
  expectTypeOf<[StructuredOf, StructuredOf<Open>]>().toEqualTypeOf<[StructuredObject, StructuredObject]>()
  expectTypeOf<ToolInput<unknown, 'any'>>().toEqualTypeOf<Json>()
})
