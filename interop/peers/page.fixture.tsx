// A page with our hooks, over whatever connection: what it shows, and what somebody at it does.

import { type ChatHook, ChatProvider, type ChatProviderProps, useChat, usePending } from '@millrace/react'
import { useEffect } from 'react'
import { flushSync } from 'react-dom'
import { createRoot } from 'react-dom/client'
import { expect, onTestFinished } from 'vitest'

type Pendings = ReturnType<typeof usePending>

type Part = ChatHook['messages'][number]['parts'][number]

const shownOf = (part: Part): string => {
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
  readonly #main = document.body.appendChild(document.createElement('main'))

  constructor(props: ChatProviderProps) {
    const page = this
    function Shown() {
      const chat = useChat()
      const pending = usePending()
      useEffect(() => {
        page.chat = chat
        page.pending = pending
      })
      return (
        <>
          {chat.messages.map(({ id, role, status, parts }) => (
            <p key={id}>{`${role} ${status}: ${parts.map(shownOf).join('')}`}</p>
          ))}
          <b>{chat.status}</b>
        </>
      )
    }
    const root = createRoot(this.#main)
    onTestFinished(() => {
      root.unmount()
      this.#main.remove()
      sessionStorage.clear()
    })
    this.render = props =>
      flushSync(() =>
        root.render(
          <ChatProvider {...props}>
            <Shown />
          </ChatProvider>,
        ),
      )
    this.render(props)
  }

  /** The messages, as a person reads them. */
  get lines(): string[] {
    return [...this.#main.querySelectorAll('p')].map(({ textContent }) => textContent ?? '')
  }

  get status(): string | null | undefined {
    return this.#main.querySelector('b')?.textContent
  }

  /** Waits until the page shows it. */
  async shows(status: string, ...lines: readonly string[]): Promise<void> {
    await expect.poll(() => ({ status: this.status, lines: this.lines }), { timeout: 8000 }).toEqual({ status, lines })
  }
}
