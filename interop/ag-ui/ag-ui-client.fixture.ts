import { HttpAgent, type Message } from '@ag-ui/client'
import { aguiMessagesOf } from '@millrace/dialects/ag-ui'
import { expect, onTestFinished, vi } from 'vitest'
import type { Backend } from '../backend.fixture.ts'
import { plain } from './plain.fixture.ts'

export const THREAD = 'thread-1'

export interface Heard {
  readonly type: string
  readonly [field: string]: unknown
}

/** A client of AG-UI, and what it is told. */
export function client<Agent extends HttpAgent = HttpAgent>(
  backend: { readonly url: string },
  name: string,
  messages: readonly Message[] = [],
  Agent: new (config: ConstructorParameters<typeof HttpAgent>[0]) => Agent = HttpAgent as never,
): { agent: Agent; events: Heard[] } {
  const url = `${backend.url.replace(/\/$/, '')}/api/ag-ui/${name}`
  const agent = new Agent({ url, threadId: THREAD, initialMessages: [...messages] })
  const events: Heard[] = []
  agent.subscribe({ onEvent: ({ event }) => void events.push(event as unknown as Heard) })
  return { agent, events }
}

let said = 0

/** What a person says, each time under another id. */
export const user = (content: string): Message => ({ id: `u${++said}`, role: 'user', content })

/** Clients of AG-UI warn of what they do not know: of us they never have to. */
export function noWarnings(): void {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => {
    const { calls } = warn.mock
    warn.mockRestore()
    expect(calls).toEqual([])
  })
}

/** Clients of AG-UI print why a run failed. */
export function noErrorsPrinted(): void {
  const error = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => error.mockRestore())
}

/** What a client has is what the session shows. */
export async function sameAsView(backend: Backend, { messages }: HttpAgent): Promise<void> {
  expect(plain(messages)).toEqual(plain(aguiMessagesOf(await backend.view(THREAD))))
}
