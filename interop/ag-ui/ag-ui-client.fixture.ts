import { HttpAgent, type Message } from '@ag-ui/client'
import { aguiMessagesOf } from '@millrace/dialects/ag-ui'
import { expect, onTestFinished, vi } from 'vitest'
import type { Backend } from '../backend.fixture.ts'
import { normalized } from './normalized.fixture.ts'

export const THREAD = 'thread-1'

export interface ReceivedEvents {
  readonly type: string
  readonly [field: string]: unknown
}

/** An AG-UI client and the events that it receives. */
export function openClient<Agent extends HttpAgent = HttpAgent>(
  backend: { readonly url: string },
  name: string,
  messages: readonly Message[] = [],
  Agent: new (config: ConstructorParameters<typeof HttpAgent>[0]) => Agent = HttpAgent as never,
): { agent: Agent; events: ReceivedEvents[] } {
  const url = `${backend.url.replace(/\/$/, '')}/api/ag-ui/${name}`
  const agent = new Agent({ url, threadId: THREAD, initialMessages: [...messages] })
  const events: ReceivedEvents[] = []
  agent.subscribe({ onEvent: ({ event }) => void events.push(event as unknown as ReceivedEvents) })
  return { agent, events }
}

let userMessages = 0

/** A user message with a new id. */
export const userMessage = (content: string): Message => ({ id: `u${++userMessages}`, role: 'user', content })

/** AG-UI clients warn about unknown input. Fails the test on a warning. */
export function expectNoWarnings(): void {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => {
    const { calls } = warn.mock
    warn.mockRestore()
    expect(calls).toEqual([])
  })
}

/** AG-UI clients print the error of a failed run. Silences it. */
export function silenceErrors(): void {
  const error = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => error.mockRestore())
}

/** Expects that the client has the messages of the session's view. */
export async function expectViewOf(backend: Backend, { messages }: HttpAgent): Promise<void> {
  expect(normalized(messages)).toEqual(normalized(aguiMessagesOf(await backend.view(THREAD))))
}
