// A page with our hooks over any connection.

import { type ChatHook, ChatProvider, type ChatProviderProps, useChat, usePending } from '@millrace/react'
import { useEffect } from 'react'
import { expect, onTestFinished } from 'vitest'
import { mount } from '../mount.fixture.tsx'

type Pendings = ReturnType<typeof usePending>

type Part = ChatHook['messages'][number]['parts'][number]

const textOf = (part: Part): string => {
  if (part.type === 'text') return 'text' in part ? part.text : ''
  if (part.type === 'reasoning') return 'text' in part ? `(${part.text})` : ''
  if (!('toolCallId' in part)) return part.type === 'step-start' ? '' : `{${part.type}}`
  const { toolName, state, input, output, errorText } = part
  return `[${toolName} ${state} ${JSON.stringify(input)} ${JSON.stringify(output ?? errorText)}]`
}

export class Page {
  chat!: ChatHook
  pending!: Pendings
  readonly render: (props: ChatProviderProps) => void
  readonly #element: HTMLElement

  constructor(props: ChatProviderProps) {
    const page = this
    function Transcript() {
      const chat = useChat()
      const pending = usePending()
      useEffect(() => {
        page.chat = chat
        page.pending = pending
      })
      return (
        <>
          {chat.messages.map(({ id, role, status, parts }) => (
            <p key={id}>{`${role} ${status}: ${parts.map(textOf).join('')}`}</p>
          ))}
          <b>{chat.status}</b>
        </>
      )
    }
    const node = (props: ChatProviderProps) => (
      <ChatProvider {...props}>
        <Transcript />
      </ChatProvider>
    )
    onTestFinished(() => sessionStorage.clear())
    const { element, render } = mount(node(props))
    this.#element = element
    this.render = props => render(node(props))
  }

  /** The messages as text. */
  get lines(): string[] {
    return [...this.#element.querySelectorAll('p')].map(({ textContent }) => textContent ?? '')
  }

  get status(): string | null | undefined {
    return this.#element.querySelector('b')?.textContent
  }

  /** Waits until the page shows exactly this. */
  async shows(status: string, ...lines: readonly string[]): Promise<void> {
    await expect.poll(() => ({ status: this.status, lines: this.lines })).toEqual({ status, lines })
  }
}
